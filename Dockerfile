# Builds FADE on Debian 12 and shows it at work on the software GPU. Needs no GPU.
#   docker build -t fade . && docker run --rm fade
# scripts/test-container goes through these steps without a container engine.
FROM debian:12
WORKDIR /fade
COPY scripts/deps scripts/deps
RUN scripts/deps --demo
COPY . .
RUN scripts/demo
CMD ["scripts/demo"]
