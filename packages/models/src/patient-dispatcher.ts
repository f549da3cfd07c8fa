/** What Node's fetch hands its requests to. */
interface Dispatcher {
  dispatch(options: object, handler: unknown): boolean;
}

/** Under this name Node's fetch keeps its dispatcher, a proxy's where the environment names one. */
const globalName = Symbol.for("undici.globalDispatcher.1");

/**
 * For the `dispatcher` option of fetch: the process's own dispatcher without its time limits of five minutes before the
 * head and between two parts of a body. A local model may read a long prompt for longer than that; how long a silent
 * server is waited for is decided above the providers. Undefined where fetch is not Node's.
 */
export function patientDispatcher(): Dispatcher | undefined {
  const own = (globalThis as Record<symbol, unknown>)[globalName] as Dispatcher | undefined;
  if (typeof own?.dispatch !== "function") return undefined;
  return {
    dispatch: (options, handler) => own.dispatch({ ...options, headersTimeout: 0, bodyTimeout: 0 }, handler),
  };
}
