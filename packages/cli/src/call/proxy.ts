import { ProviderError } from "@bonsai-agent/models";
import { type Dispatcher, EnvHttpProxyAgent, setGlobalDispatcher } from "undici";
import { wrongUsage } from "./failure.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Sends every fetch of this process through the proxies of the environment, but reaches this machine directly. Node's own
 * fetch uses undici's global dispatcher too. Node's `http` module and child processes do not.
 * @throws BonsaiError `wrong_usage` for an invalid address
 */
export function dispatchThroughProxies(env: Environment): void {
  setGlobalDispatcher(proxyDispatcher(env));
}

export function proxyDispatcher(env: Environment): Dispatcher {
  const all = proxyAddress("all_proxy", env);
  const http = proxyAddress("http_proxy", env) ?? all;
  const https = proxyAddress("https_proxy", env) ?? all ?? http;
  const noProxy = ["localhost,127.0.0.1,[::1]", env.no_proxy ?? env.NO_PROXY ?? ""].join(",");
  return new EnvHttpProxyAgent({
    ...(http !== undefined && { httpProxy: http }),
    ...(https !== undefined && { httpsProxy: https }),
    noProxy,
  }).compose(explainRefusals);
}

/** Prefers the name in small letters, because a CGI server sets HTTP_PROXY from a request header. */
function proxyAddress(name: string, env: Environment): string | undefined {
  const value = env[name]?.trim() || env[name.toUpperCase()]?.trim();
  if (!value) return undefined;
  const address = /^\w+:\/\//.test(value) ? value.replace(/^socks5h:/, "socks5:") : `http://${value}`;
  if (/^(?:https?|socks5):$/.test(URL.parse(address)?.protocol ?? "")) return address;
  throw wrongUsage(
    `${name.toUpperCase()} does not contain the address of a proxy.`,
    "Set it to http://HOST:PORT or socks5://HOST:PORT.",
  );
}

const explainRefusals: Dispatcher.DispatcherComposeInterceptor = (dispatch) => (options, handler) => {
  const { onResponseError } = handler;
  handler.onResponseError = (controller, error) =>
    onResponseError?.call(handler, controller, explained(error, String(options.origin)));
  return dispatch(options, handler);
};

/** undici names a proxy's status, but neither the cause nor a remedy. */
function explained(error: Error, origin: string): Error {
  const status = /proxy [^(]*\((\d{3})\)/i.exec(error.message)?.[1];
  if (status === undefined) return error;
  const message =
    status === "407"
      ? "The proxy requires a user and a password, or refused the given ones. Set HTTPS_PROXY or HTTP_PROXY to http://USER:PASSWORD@HOST:PORT."
      : `The proxy did not connect to ${URL.parse(origin)?.host} (status ${status}). Check the proxy, or add the host to NO_PROXY.`;
  // A retry does not avoid a refusal.
  return status.startsWith("4")
    ? new ProviderError({ kind: "refused", code: "proxy_refused", message })
    : new Error(message);
}
