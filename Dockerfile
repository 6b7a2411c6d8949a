# The service with its models inside: it needs no network but the agents and upstreams it is set up to call.
#
#   docker build -t likewise .
#   docker run --rm -p 127.0.0.1:8700:8700 -v likewise:/var/lib/likewise likewise

FROM python:3.12-slim-bookworm AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN python -m venv /opt/likewise
WORKDIR /source
COPY pyproject.toml README.md LICENSE NOTICE ./
COPY src ./src
RUN /opt/likewise/bin/pip install ".[serve,postgres,parquet]"
# The image is of use only with its models: judge a pair and embed a text, so that a build without them fails here.
RUN /opt/likewise/bin/python -c "\
from likewise.backends.judges import embedded_judge; \
from likewise.backends.onnx_encoder import embedded_encoder; \
list(embedded_judge().judge([('It is safe.', 'It is not safe.')])); embedded_encoder().encode(['It is safe.'])"

FROM python:3.12-slim-bookworm
RUN groupadd --gid 10001 likewise \
    && useradd --uid 10001 --gid likewise --home-dir /var/lib/likewise --create-home --shell /usr/sbin/nologin likewise
COPY --from=build /opt/likewise /opt/likewise
ENV PATH=/opt/likewise/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    HF_HUB_OFFLINE=1 \
    LIKEWISE_HOST=0.0.0.0 \
    LIKEWISE_PORT=8700 \
    LIKEWISE_DATABASE_URL=sqlite:////var/lib/likewise/history.sqlite
USER 10001:10001
WORKDIR /var/lib/likewise
VOLUME /var/lib/likewise
EXPOSE 8700
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import os, urllib.request as u; u.urlopen(f\"http://127.0.0.1:{os.environ['LIKEWISE_PORT']}/readyz\", timeout=4)"]
ENTRYPOINT ["likewise"]
CMD ["serve"]
