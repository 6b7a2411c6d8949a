from __future__ import annotations

import hashlib

from argon2 import PasswordHasher

from likewise.service.security.hashing import digest, hash_secret, needs_rehash, verify_secret


def test_a_hash_fits_its_secret_and_no_other():
    hashed = hash_secret("correct horse")
    assert verify_secret(hashed, "correct horse")
    assert not verify_secret(hashed, "correct hors")
    assert hash_secret("correct horse") != hashed  # salted


def test_the_hash_is_argon2id_with_the_settings_that_owasp_recommends():
    assert hash_secret("x").startswith("$argon2id$v=19$m=19456,t=2,p=1$")


def test_what_is_no_hash_fits_nothing():
    for hashed in ("", "plain", "$argon2id$broken"):
        assert not verify_secret(hashed, "plain")


def test_a_hash_with_other_settings_is_to_be_made_anew():
    assert needs_rehash(PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash("x"))
    assert not needs_rehash(hash_secret("x"))


def test_odd_characters_can_be_hashed():
    assert verify_secret(hash_secret("\ud83d\x00"), "\ud83d\x00")


def test_a_digest_is_sha_256():
    assert digest("abc") == hashlib.sha256(b"abc").hexdigest()
