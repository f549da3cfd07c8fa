// Loaded into the driven process: what it asks of any other machine, the bench's own server answers.
const { BENCH_SERVER } = process.env;
const fetchOf = globalThis.fetch;

globalThis.fetch = (input, init) => {
  const url = new URL(input instanceof Request ? input.url : input);
  if (url.hostname === "127.0.0.1" || !url.protocol.startsWith("http")) return fetchOf(input, init);
  const there = `${BENCH_SERVER}/${url.hostname}${url.pathname}${url.search}`;
  return fetchOf(input instanceof Request ? new Request(there, input) : there, init);
};
