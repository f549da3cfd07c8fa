import { jsonText } from "@bonsai-agent/messages";
import { classifyFailure } from "../failure/classify.ts";
import { errorTexts } from "../failure/error-texts.ts";
import { type CatalogueModel, type ModelCompat, referenceOf } from "../model.ts";
import { ProviderError } from "../provider.ts";
import { openAiServer } from "./openai-servers.ts";

/** Statuses of refusals that are about the key, the address or the rate, even if their text names a field. */
const OTHER_STATUSES: ReadonlySet<number> = new Set([401, 402, 403, 404, 408, 429]);
/** Servers echo the request under these keys. */
const ECHO_KEYS: ReadonlySet<string> = new Set(["input", "ctx", "messages", "request", "params"]);

/** Learns from refusals which fields and which order of messages a Chat Completions server accepts. Each client has its own. */
export class RefusedFields {
  readonly #learned = new Map<string, ModelCompat>();

  withLearned(model: CatalogueModel): CatalogueModel {
    const learned = this.#learned.get(keyOf(model));
    return learned === undefined ? model : { ...model, compat: { ...model.compat, ...learned } };
  }

  learn(model: CatalogueModel, error: unknown): boolean {
    if (!(error instanceof ProviderError) || error.kind !== "refused") return false;
    if (OTHER_STATUSES.has(error.status ?? 0)) return false;
    const known = this.#learned.get(keyOf(model)) ?? {};
    const isInvalid = error.status === 400 || error.status === 422;
    const all = {
      ...known,
      ...(isInvalid && optionFields(`${error.message} ${jsonText(error.body)}`)),
      ...(REFUSED_ORDER.test(wordsOf(error)) && { userAfterResults: false }),
      ...(known.thinkingBack !== "none" && thinkingField(this.withLearned(model), error)),
    };
    if (jsonText(all) === jsonText(known)) return false;
    this.#learned.set(keyOf(model), all);
    return true;
  }

  /**
   * Allows one attempt for each model without a user message after tool results, because servers refuse it in many words.
   * Call `keepOrder` if the attempt fails too.
   */
  tryOtherOrder(model: CatalogueModel, error: unknown, messages: readonly { role: string }[]): boolean {
    const known = this.#learned.get(keyOf(model)) ?? {};
    if (known.userAfterResults !== undefined || !isUnexplained(model, error)) return false;
    if (!messages.some(({ role }, at) => role === "user" && messages[at - 1]?.role === "tool")) return false;
    this.#learned.set(keyOf(model), { ...known, userAfterResults: false });
    return true;
  }

  keepOrder(model: CatalogueModel): void {
    this.#learned.set(keyOf(model), { ...this.#learned.get(keyOf(model)), userAfterResults: true });
  }

  /** Adds the setting that may help to a refusal that is about earlier thinking. */
  withAdvice(model: CatalogueModel, error: unknown): unknown {
    if (!(error instanceof ProviderError) || namedField(wordsOf(error)) === undefined) return error;
    const { message, cause } = error;
    const advice = `To choose the field for earlier thinking, set compat.thinkingBack of ${referenceOf(model)} in models.json to "reasoning_content", "reasoning_details" or "none".`;
    return new ProviderError({ ...error, message, cause, advice });
  }
}

/** True for a refused request whose size and rate are not the reason. */
function isUnexplained({ provider, id: modelId }: CatalogueModel, error: unknown): boolean {
  if (!(error instanceof ProviderError) || error.kind !== "refused") return false;
  const { kind, status } = classifyFailure({ error, provider, modelId });
  return (status === 400 || status === 422) && (kind === "other" || kind === "damagedHistory");
}

function keyOf({ baseUrl, id }: CatalogueModel): string {
  return `${baseUrl} ${id}`;
}

/** Mistral's server, and templates of models. Servers send an error of a template with several statuses. */
const REFUSED_ORDER = /\buser\b.{0,9} after .{0,9}\btool\b|roles must alternate/i;

function optionFields(text: string): ModelCompat {
  return {
    ...(/stream_options/.test(text) && { streamOptions: false }),
    ...(/(?:unsupported|not supported).{0,80}max_completion_tokens/is.test(text) && {
      maxTokensField: "max_completion_tokens" as const,
    }),
  };
}

const NOT_TAKEN =
  /unsupported|not (?:supported|permitted|allowed|accepted|expected)|unknown|unexpected|unrecogni[sz]ed|additional|extra|remove|(?:must|should|can) ?not (?:be (?:sent|set|included|present|provided|passed)|contain|include|have)/i;

/** Sends a missing field for thinking from now on, and leaves out a refused one. */
function thinkingField(model: CatalogueModel, error: ProviderError): ModelCompat {
  const words = wordsOf(error);
  const named = namedField(words);
  const { wantsThinking, thinkingPlaceholder } = openAiServer(model);
  if (wantsThinking === undefined) {
    const isAsked = asksForThinking(words) && !NOT_TAKEN.test(words);
    const field = named ?? (isAsked ? "reasoning_content" : undefined);
    return field === undefined ? {} : { thinkingBack: field };
  }
  if (named === undefined) return {};
  if (named === wantsThinking && NOT_TAKEN.test(words)) return { thinkingBack: "none" };
  // With the setting, messages without thinking get a placeholder.
  const isComplete =
    named === wantsThinking && (named !== "reasoning_content" || thinkingPlaceholder !== undefined);
  return isComplete ? {} : { thinkingBack: named };
}

function namedField(words: string): "reasoning_content" | "reasoning_details" | undefined {
  const [field] = /reasoning_(?:content|details)/.exec(words) ?? [];
  return field as ReturnType<typeof namedField>;
}

/** True if a gateway asks for thinking without the name of the field. */
function asksForThinking(words: string): boolean {
  const has = (pattern: RegExp) => pattern.test(words);
  return (
    !has(/effort|budget|enable_thinking/i) &&
    has(/\b(?:thinking|reasoning)\b/i) &&
    has(
      /missing|without|must|requires?|pass(?:ed)? back|sen[dt] back|includ|preserv|provide|previous|earlier/i,
    ) &&
    has(/message|assistant|tool|turn|content|back/i)
  );
}

/** The text of the refusal, without the repeated request. */
function wordsOf(error: ProviderError): string {
  const texts = errorTexts(error).all;
  try {
    const body = JSON.stringify(error.body, (key, value) => (ECHO_KEYS.has(key) ? undefined : value));
    return `${texts} ${body ?? ""}`;
  } catch {
    // The body is nested too deep for JSON.
    return texts;
  }
}
