import type { ProviderOptions, ProviderStreamRequest } from "@bonsai-agent/extension";
import type { ProviderModelOptions } from "@bonsai-agent/extension/host";
import { BonsaiError } from "@bonsai-agent/messages";
import type { NotifyOnce } from "../pi-extension.ts";
import { loginOfPi, piLoginOf } from "./login.ts";
import { bonsaiModel, piModel } from "./model.ts";
import { fromPiEvents, type PiEventSource } from "./streams.ts";
import { piRequest } from "./transcript.ts";

type PiStreaming = (model: object, context: object, options: object) => PiEventSource;

/** The argument of pi's `registerProvider`: options, or a provider object with a name. */
export interface PiProvider extends Omit<ProviderOptions, "stream" | "oauth"> {
  id?: string;
  getModels?(): readonly ProviderModelOptions[];
  streamSimple?: PiStreaming;
  oauth?: ProviderOptions["oauth"] & { usesCallbackServer?: boolean; isSubscription?: boolean };
  /** The logins of a provider object. */
  auth?: unknown;
  refreshModels?: unknown;
}

/** A provider in Bonsai's shape. @throws BonsaiError `pi_provider_invalid` */
export function bonsaiProvider(
  name: string | PiProvider,
  given: PiProvider | undefined,
  notifyOnce: NotifyOnce,
): { name: string; options: ProviderOptions } {
  const provider = typeof name === "string" ? given : name;
  const id = typeof name === "string" ? name : name?.id;
  if (!id || typeof provider !== "object" || provider === null) throw invalidProvider(name);
  const { refreshModels, streamSimple, getModels, auth, id: _id, ...options } = provider;
  if (refreshModels !== undefined)
    notifyOnce(
      `models ${id}`,
      `wants to list the models of ${id}. Bonsai uses only the models that the extension registers`,
    );
  const piLogin = piLoginOf(auth);
  const models = options.models ?? getModels?.call(provider);
  const resolved = <Part extends { headers?: Headers }>(part: Part) => withHeaders(part, id, notifyOnce);
  const own: ProviderOptions = {
    ...resolved(options),
    ...(piLogin === undefined ? {} : { oauth: loginOfPi(piLogin) }),
    ...(options.apiKey === undefined ? {} : { apiKey: keyReference(options.apiKey) }),
    ...(models === undefined ? {} : { models: models.map(resolved) }),
  };
  if (streamSimple === undefined) return { name: id, options: own };
  const answer: PiStreaming = (...args) => streamSimple.apply(provider, args);
  return { name: id, options: { ...own, stream: streaming(id, own, answer) } };
}

/** Calls a provider of pi with its arguments: model, context and options. */
function streaming(name: string, options: ProviderOptions, answer: PiStreaming) {
  return (request: ProviderStreamRequest) => {
    const { model, maxOutputTokens, thinking = "off", signal } = request;
    const { baseUrl = "", headers, api } = options;
    // The request has a login's key, if there is one.
    const apiKey = request.apiKey ?? keyOf(options.apiKey);
    const known = options.models?.find(({ id }) => id === model.id);
    const asked = { ...model, baseUrl, headers, api, ...known, id: model.id, provider: name };
    const events = answer(
      { ...piModel(bonsaiModel(asked as never)), api: asked.api ?? name },
      piRequest(request),
      {
        signal,
        ...(maxOutputTokens === undefined ? {} : { maxTokens: maxOutputTokens }),
        ...(thinking === "off" ? {} : { reasoning: thinking }),
        ...(apiKey === undefined ? {} : { apiKey }),
      },
    );
    return fromPiEvents(events);
  };
}

/** Bonsai's `$NAME` for pi's `${NAME}`, for the bare name of a variable that is set, and for a text with a variable that is not. */
function keyReference(apiKey: string): string {
  if (typeof apiKey !== "string" || apiKey.startsWith("!")) return apiKey;
  const name = /^\$(?:\{(\w+)\}|(\w+))$/.exec(apiKey)?.slice(1).find(Boolean);
  if (name !== undefined) return `$${name}`;
  if (/^[A-Z][A-Z0-9_]+$/.test(apiKey) && process.env[apiKey] !== undefined) return `$${apiKey}`;
  const { text, missing } = withVariables(apiKey);
  return missing === undefined ? text : `$${missing}`;
}

/** pi's keys and headers: `$NAME` and `${NAME}` are variables, `$$` and `$!` are escapes. */
const reference = /\$(?:([$!])|\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))/g;

/** A text with the values of its variables. `missing`: the first variable that is not set or empty. */
function withVariables(template: string): { text: string; missing: string | undefined } {
  let missing: string | undefined;
  const text = template.replaceAll(reference, (_all, sign?: string, braced?: string, bare?: string) => {
    const name = braced ?? bare;
    if (name === undefined) return sign!;
    const value = process.env[name];
    if (!value) missing ??= name;
    return value ?? "";
  });
  return { text, missing };
}

type Headers = Readonly<Record<string, string>> | undefined;

/** Omits headers with a variable that is not set. */
function withHeaders<Part extends { headers?: Headers }>(
  part: Part,
  id: string,
  notifyOnce: NotifyOnce,
): Part {
  const { headers } = part;
  if (typeof headers !== "object" || headers === null) return part;
  const resolved = Object.entries(headers).flatMap(([name, value]) => {
    if (typeof value !== "string") return [[name, value] as const];
    const { text, missing } = withVariables(value);
    if (missing === undefined) return [[name, text] as const];
    notifyOnce(
      `header ${id} ${name}`,
      `needs the variable ${missing} for the header ${name} of ${id}. It is not set, so Bonsai omits the header`,
    );
    return [];
  });
  return { ...part, headers: Object.fromEntries(resolved) };
}

function keyOf(reference: string | undefined): string | undefined {
  return reference?.startsWith("$") ? process.env[reference.slice(1)] : reference;
}

function invalidProvider(name: unknown): BonsaiError {
  return new BonsaiError({
    code: "pi_provider_invalid",
    message: `registerProvider was called with ${JSON.stringify(name) ?? String(name)} and without options.`,
    hint: 'Call it as registerProvider("name", {baseUrl, api, apiKey, models}).',
  });
}
