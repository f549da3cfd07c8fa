import { ProviderError } from "@bonsai-agent/models";
import { Agent, Dispatcher, ProxyAgent, setGlobalDispatcher } from "undici";
import { type ChosenProxy, type Environment, proxyFor } from "./proxy.ts";

/**
 * Sends every fetch of this process through the proxies of the environment. Node's own fetch uses undici's global
 * dispatcher too. Node's `http` module and child processes do not.
 */
export function dispatchThroughProxies(env: Environment): void {
  setGlobalDispatcher(new ProxyDispatcher(env));
}

/** Sends each request directly or through its proxy. Errors name the proxy without its password. */
export class ProxyDispatcher extends Dispatcher {
  readonly #env: Environment;
  readonly #direct = new Agent();
  readonly #proxies = new Map<string, ProxyAgent>();

  constructor(env: Environment) {
    super();
    this.#env = env;
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    const target = new URL(String(options.origin));
    const proxy = proxyFor(target, this.#env);
    if (proxy === undefined) return this.#direct.dispatch(options, handler);
    const agent = this.#agent(proxy);
    const { onResponseError, onResponseStart } = handler;
    handler.onResponseError = (controller, error) =>
      onResponseError?.call(handler, controller, withProxy(error, proxy, target));
    handler.onResponseStart = (controller, status, headers, text) => {
      const failure =
        target.protocol === "http:" ? pageOfProxy({ status, headers, proxy, target }) : undefined;
      if (failure === undefined) onResponseStart?.call(handler, controller, status, headers, text);
      else controller.abort(failure);
    };
    return agent.dispatch(options, handler);
  }

  override async close(): Promise<void> {
    await Promise.all([this.#direct, ...this.#proxies.values()].map((agent) => agent.close()));
  }

  #agent(proxy: ChosenProxy): ProxyAgent {
    const known = this.#proxies.get(proxy.address);
    if (known !== undefined) return known;
    const url = URL.parse(proxy.address.replace(/^socks5h:/, "socks5:"));
    if (url === null || !/^(?:https?|socks5?):$/.test(url.protocol))
      throw refusal(
        `${proxy.variable} does not contain the address of a proxy. Set it to http://HOST:PORT or socks5://HOST:PORT.`,
      );
    const agent = new ProxyAgent({ uri: url.href });
    this.#proxies.set(proxy.address, agent);
    return agent;
  }
}

interface ProxiedAnswer {
  status: number;
  headers: Record<string, unknown>;
  proxy: ChosenProxy;
  target: URL;
}

/** Statuses of a proxy that does not allow or does not reach the server. */
const PROXY_STATUSES: ReadonlySet<number> = new Set([403, 502, 503, 504]);

/** Without TLS, a proxy answers in the server's place. APIs do not answer with pages, so a page is probably the proxy's. */
function pageOfProxy({ status, headers, proxy, target }: ProxiedAnswer): ProviderError | undefined {
  if (!PROXY_STATUSES.has(status) || !/\bhtml\b/i.test(String(headers["content-type"]))) return undefined;
  const message = `A request to ${target.host} got an HTML page with status ${status} through ${nameOf(proxy)}. Check the proxy, or add the host to NO_PROXY.`;
  return status < 500 ? refusal(message) : new ProviderError({ kind: "network", message });
}

function nameOf(proxy: ChosenProxy): string {
  return `the proxy ${URL.parse(proxy.address)?.origin ?? ""} (${proxy.variable})`;
}

function withProxy(error: Error, proxy: ChosenProxy, target: URL): Error {
  // undici reports some errors twice.
  if (error instanceof ProviderError) return error;
  const named = nameOf(proxy);
  const status = /Proxy response \((\d+)\)/.exec(error.message)?.[1] ?? /\((407)\)/.exec(error.message)?.[1];
  if (status === "407")
    return refusal(
      `${capital(named)} requires a user and a password, or refused the given ones. Set ${proxy.variable} to http://USER:PASSWORD@HOST:PORT.`,
    );
  if (status !== undefined) {
    const message = `${capital(named)} did not connect to ${target.host} (status ${status}). Check the proxy, or add the host to NO_PROXY.`;
    return status.startsWith("4") ? refusal(message) : new Error(message);
  }
  // Keep the caller's abort. A refused tunnel is an abort too, but has a status.
  if (error.name === "AbortError" || error.name === "TimeoutError") return error;
  // Drop the error code: a refused connection would count as one of the model's server.
  return new Error(`${error.message} (through ${named})`);
}

/** An error that a retry does not avoid. */
function refusal(message: string): ProviderError {
  return new ProviderError({ kind: "refused", code: "proxy_refused", message });
}

function capital(text: string): string {
  return `${text[0]!.toUpperCase()}${text.slice(1)}`;
}
