# One image for every role; the role is the command. `spark` adds what the feeder needs.
FROM python:3.11-slim AS ledger

WORKDIR /opt/lakeledger
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY ledger ledger
COPY projections projections
COPY spark_sink spark_sink
RUN pip install --no-cache-dir --constraint constraints.txt '.[delta]' \
    && useradd --create-home --uid 10001 lakeledger \
    && install -d -o lakeledger -g lakeledger /var/lib/lakeledger /var/cache/lakeledger \
    && install -d -m 1777 /var/lib/lakeledger/state

ENV PYTHONUNBUFFERED=1 \
    LAKELEDGER_CACHE=/var/cache/lakeledger
USER lakeledger
WORKDIR /var/lib/lakeledger
ENTRYPOINT ["lakeledger"]

FROM ledger AS spark
USER root
RUN pip install --no-cache-dir --constraint /opt/lakeledger/constraints.txt \
        "/opt/lakeledger[spark,java]"
USER lakeledger
RUN python -m ledger.machine.kafka.jars
