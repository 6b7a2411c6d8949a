"""Alerts over a real mail server and a real web server on this machine."""

import hmac
import json
import ssl
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import anyio
import pytest
import trustme
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult

from likewise.service.alert_channels import Message, SendError, check_signature, send_mail, send_webhook, signature_of
from likewise.service.page_settings import AlertSettings
from service_process import free_port

SECRET = "a secret of the webhook"
MESSAGE = Message("a1", "likewise: support: worse", "support: worse.\n", {"type": "regression", "agent": "süpport <b>"})
NOW = 1_800_000_000.4


@contextmanager
def receiver(status=204, headers=None):
    """A web server that keeps what is posted to it."""
    got = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            got.append((self.path, dict(self.headers), body))
            self.send_response(status)
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", got
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class Box:
    """Keeps the mails that come; refuses a receiver that is called nobody."""

    def __init__(self):
        self.mails = []

    async def handle_RCPT(self, server, session, envelope, address, options):
        if address.startswith("nobody@"):
            return "550 no such box"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        self.mails.append((envelope.mail_from, envelope.rcpt_tos, envelope.content.decode()))
        return "250 OK"


@contextmanager
def mail_server(**options):
    box = Box()
    controller = Controller(box, hostname="127.0.0.1", port=free_port(), **options)
    controller.start()
    try:
        yield controller.port, box
    finally:
        controller.stop()


def webhook(url):
    return AlertSettings(webhook_url=url, webhook_secret=SECRET)


def mail(port, **changes):
    given = {"smtp_host": "127.0.0.1", "smtp_port": port, "smtp_tls": "none", "mail_from": "likewise@example.com"}
    return AlertSettings(**given | {"mail_to": ("team@example.com", "ops@example.com")} | changes)


# Webhook


def test_a_receiver_can_tell_that_a_message_is_ours_and_recent():
    with receiver() as (url, got):
        anyio.run(send_webhook, webhook(f"{url}/hooks?token=7"), MESSAGE, NOW)
    ((path, headers, body),) = got
    assert path == "/hooks?token=7"
    assert json.loads(body) == {"type": "regression", "agent": "süpport <b>"}
    assert headers["Likewise-Delivery"] == "a1"
    assert headers["Likewise-Timestamp"] == "1800000000"
    # As any receiver would compute it, from the documentation alone.
    expected = hmac.new(SECRET.encode(), b"1800000000." + body, "sha256").hexdigest()
    assert headers["Likewise-Signature"] == f"v1={expected}"
    assert check_signature(SECRET, headers["Likewise-Timestamp"], body, headers["Likewise-Signature"], NOW + 60)


@pytest.mark.parametrize(
    ("secret", "timestamp", "body", "now"),
    [
        ("another secret", "1800000000", b"{}", NOW),
        (SECRET, "1800000001", b"{}", NOW),
        (SECRET, "1800000000", b"{ }", NOW),
        (SECRET, "1800000000", b"{}", NOW + 301),
        (SECRET, "1800000000", b"{}", NOW - 301),
        (SECRET, "soon", b"{}", NOW),
    ],
)
def test_a_message_that_was_changed_or_is_old_is_not_taken_for_ours(secret, timestamp, body, now):
    signature = signature_of(SECRET, 1_800_000_000, b"{}")
    assert check_signature(SECRET, "1800000000", b"{}", signature, NOW)
    assert not check_signature(secret, timestamp, body, signature, now)


def test_a_redirect_is_a_failure_and_is_not_followed():
    with receiver() as (inside, got), receiver(302, {"Location": f"{inside}/inside"}) as (url, _):
        with pytest.raises(SendError, match="the webhook answered with status 302"):
            anyio.run(send_webhook, webhook(url), MESSAGE, NOW)
        assert got == []


def test_a_webhook_that_fails_says_so_without_its_address():
    with receiver(500) as (url, _), pytest.raises(SendError, match=r"^the webhook answered with status 500$"):
        anyio.run(send_webhook, webhook(f"{url}/token-in-path"), MESSAGE, NOW)
    with pytest.raises(SendError) as failure:
        anyio.run(send_webhook, webhook("http://127.0.0.1:9/token-in-path"), MESSAGE, NOW)
    assert "token-in-path" not in str(failure.value)
    assert "cannot be reached" in str(failure.value)


# Mail


def test_a_mail_arrives_with_its_words_at_all_receivers():
    with mail_server() as (port, box):
        anyio.run(send_mail, mail(port), MESSAGE)
    ((sender, receivers, content),) = box.mails
    assert (sender, receivers) == ("likewise@example.com", ["team@example.com", "ops@example.com"])
    assert "Subject: likewise: support: worse" in content
    assert "Auto-Submitted: auto-generated" in content
    assert "support: worse." in content


def test_a_subject_with_line_breaks_adds_no_header():
    hostile = Message("a1", "worse\r\nBcc: everybody@example.com\r\n\r\nbody", "words", {})
    with mail_server() as (port, box):
        anyio.run(send_mail, mail(port), hostile)
    ((_, receivers, content),) = box.mails
    assert "everybody@example.com" not in receivers
    assert "\nBcc:" not in content


@pytest.mark.filterwarnings("ignore:Requiring AUTH while not requiring TLS")
def test_name_and_password_are_used_where_they_are_set():
    def allowed(server, session, envelope, mechanism, data):
        return AuthResult(success=data.password == b"pass word", handled=False)

    plain = {"auth_require_tls": False, "auth_required": True}
    with mail_server(authenticator=allowed, **plain) as (port, box):
        anyio.run(send_mail, mail(port, smtp_user="likewise", smtp_password="pass word"), MESSAGE)
        assert len(box.mails) == 1
        with pytest.raises(SendError, match=r"the mail server refused: \(535") as failure:
            anyio.run(send_mail, mail(port, smtp_user="likewise", smtp_password="wrong one"), MESSAGE)
        assert "wrong one" not in str(failure.value)
        with pytest.raises(SendError, match="the mail server refused"):
            anyio.run(send_mail, mail(port), MESSAGE)


def test_a_receiver_that_is_refused_is_a_failure():
    with mail_server() as (port, _), pytest.raises(SendError, match="1 of 2 receivers were refused"):
        anyio.run(send_mail, mail(port, mail_to=("nobody@example.com", "ops@example.com")), MESSAGE)


def test_nothing_is_sent_in_clear_where_a_secure_connection_is_wanted():
    """A server without STARTTLS: the mail, and the password with it, stays here."""
    with mail_server() as (port, box):
        with pytest.raises(SendError, match="the mail server refused"):
            anyio.run(send_mail, mail(port, smtp_tls="starttls", smtp_user="u", smtp_password="p"), MESSAGE)
        assert box.mails == []


@pytest.fixture
def authority(tmp_path, monkeypatch):
    """An authority that this machine trusts, as by the variable that names one's own."""
    found = trustme.CA()
    found.cert_pem.write_to_path(tmp_path / "authority.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
    return found


def certified(authority, name="127.0.0.1"):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(name).configure_cert(context)
    return context


def allowed(server, session, envelope, mechanism, data):
    """Takes one password."""
    return AuthResult(success=data.password == b"pass word", handled=False)


def encrypted(way, context):
    """What makes the mail server speak TLS from the start, or after STARTTLS alone."""
    if way == "tls":
        return {"ssl_context": context, "auth_require_tls": False, "authenticator": allowed, "auth_required": True}
    return {"tls_context": context, "require_starttls": True, "authenticator": allowed, "auth_required": True}


@pytest.mark.filterwarnings("ignore:Requiring AUTH while not requiring TLS")
@pytest.mark.parametrize("way", ["starttls", "tls"])
def test_a_mail_and_its_password_go_encrypted_to_a_server_whose_certificate_holds(authority, way):
    secure = {"smtp_tls": way, "smtp_user": "likewise", "smtp_password": "pass word"}
    with mail_server(**encrypted(way, certified(authority))) as (port, box):
        anyio.run(send_mail, mail(port, **secure), MESSAGE)
    ((sender, receivers, content),) = box.mails
    assert (sender, len(receivers)) == ("likewise@example.com", 2)
    assert "support: worse." in content


@pytest.mark.filterwarnings("ignore:Requiring AUTH while not requiring TLS")
@pytest.mark.parametrize("way", ["starttls", "tls"])
@pytest.mark.parametrize("wrong", ["name", "authority"])
def test_a_mail_server_whose_certificate_does_not_hold_gets_neither_mail_nor_password(authority, way, wrong):
    context = certified(trustme.CA()) if wrong == "authority" else certified(authority, "mail.example.com")
    secure = {"smtp_tls": way, "smtp_user": "likewise", "smtp_password": "pass word"}
    asked = []

    def asking(server, session, envelope, mechanism, data):
        asked.append(data)
        return AuthResult(success=True)

    options = encrypted(way, context) | {"authenticator": asking}
    with mail_server(**options) as (port, box), pytest.raises(SendError, match="certificate verify failed"):
        anyio.run(send_mail, mail(port, **secure), MESSAGE)
    assert (asked, box.mails) == ([], [])


def test_a_mail_server_that_is_not_there_is_a_failure():
    with pytest.raises(SendError, match="the mail server cannot be reached"):
        anyio.run(send_mail, mail(9), MESSAGE)


# Settings


def test_half_a_channel_is_refused():
    with pytest.raises(ValueError, match="a webhook needs a webhook_secret"):
        AlertSettings(webhook_url="https://example.com/hook")
    with pytest.raises(ValueError, match="mail needs mail_from and mail_to"):
        AlertSettings(smtp_host="mail.example.com")


def test_a_variable_that_is_passed_on_empty_is_not_set():
    settings = AlertSettings(webhook_url="", webhook_secret="", smtp_host="", smtp_user="", smtp_password="")
    assert (settings.webhook_url, settings.webhook_secret, settings.smtp_host) == (None, None, None)
    assert settings.secrets == ()


def test_a_webhook_is_a_web_address_and_its_secrets_are_known_as_such():
    for url in ("ftp://example.com", "example.com/hook", "https://user:word@example.com/", "file:///etc/passwd"):
        with pytest.raises(ValueError, match="a webhook is an http or https address"):
            AlertSettings(webhook_url=url, webhook_secret=SECRET)
    settings = AlertSettings(webhook_url="https://example.com/token", webhook_secret=SECRET)
    assert settings.secrets == ("https://example.com/token", SECRET)
    assert SECRET not in repr(settings)
