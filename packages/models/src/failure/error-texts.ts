import type { ProviderError } from "../provider.ts";

/** The texts of an error, in the provider's words. */
export interface ErrorTexts {
  all: string;
  message: string;
  code: string | undefined;
  /** The blamed field of the request: "messages", "tools[2].name". */
  param: string | undefined;
  status: number | undefined;
  /** Numbers in fields of their own, by their names in lower case. */
  numbers: ReadonlyMap<string, number>;
  isBodyless: boolean;
}

/** Longer than any message of a provider. Cuts a page of HTML or an echo of the request. */
const MAX_CHARS = 20_000;
const MAX_DEPTH = 8;

/** Fields with the kind of the failure. AWS writes `__type`, with a namespace before a `#`. */
const CODE_KEYS = words("code type status __type error_code errorcode errortype error_type");
/**
 * Fields with words of providers and gateways. Some servers repeat the request in other fields (`input`, `ctx`): the
 * output of a tool is not the provider's refusal.
 */
const SPEAKING_KEYS = words(
  "error errors message msg detail details description reason title metadata raw cause innererror response body fault " +
    "faultstring promptfeedback blockreason blockreasonmessage error_message error_description error_msg errormessage " +
    "finish_reason stop_reason",
);
const COUNTING_KEYS = words("n_prompt_tokens n_ctx");

function words(list: string): ReadonlySet<string> {
  return new Set(list.split(" "));
}

/** Reads nested errors: JSON in a message, a body, a chain of causes. Never throws. */
export function errorTexts(error: ProviderError): ErrorTexts {
  const reader = new TextReader();
  const status = typeof error.status === "number" ? error.status : undefined;
  const shownStatus = String(status ?? "");
  reader.read(error.message);
  reader.read(error.body);
  reader.read(error.cause);
  const code = typeof error.code === "string" ? [`code ${error.code}`] : [];
  const said = [shownStatus, ...reader.said, ...code].join("\n").slice(0, 2 * MAX_CHARS);
  const message = typeof error.message === "string" ? error.message : "";
  return {
    all: said.startsWith(`${shownStatus}\n${shownStatus}`) ? said.slice(shownStatus.length + 1) : said,
    message: reader.sentence ?? message,
    code: typeof error.code === "string" ? error.code.slice(0, 100) : reader.code?.slice(0, 100),
    param: reader.param,
    status,
    numbers: reader.numbers,
    isBodyless:
      (error.body ?? "") === "" && /^(?:\d{3}\s*(?:status code)?\s*\(no body\))?$/i.test(message.trim()),
  };
}

class TextReader {
  readonly said: string[] = [];
  readonly numbers = new Map<string, number>();
  sentence: string | undefined;
  code: string | undefined;
  param: string | undefined;
  readonly #seen = new Set<object>();

  read(value: unknown, key = "", depth = 0): void {
    if (depth > MAX_DEPTH || this.said.length > 100) return;
    if (typeof value === "string") this.#readText(value, key, depth);
    else if (typeof value === "number") this.#readNumber(value, key);
    else if (typeof value === "object" && value !== null && !this.#seen.has(value)) {
      this.#seen.add(value);
      this.#readObject(value, depth);
    }
  }

  #readObject(value: object, depth: number): void {
    const entries = Array.isArray(value)
      ? value.slice(0, 20).map((item) => ["errors", item])
      : fieldsOf(value);
    for (const [key, item] of entries) {
      const name = key.toLowerCase();
      if (name === "param" && typeof item === "string" && item !== "") this.param ??= item.slice(0, 100);
      if ([SPEAKING_KEYS, CODE_KEYS, COUNTING_KEYS].some((keys) => keys.has(name)))
        this.read(item, name, depth + 1);
    }
  }

  #readText(text: string, key: string, depth: number): void {
    // A gateway's own sentence ("Provider returned error") says less than the provider's.
    if (key === "raw") this.sentence = undefined;
    const { before, json } = withoutJson(text);
    if (json !== undefined) this.read(json, key, depth + 1);
    const plain = pageTitle(before.slice(0, MAX_CHARS)).trim();
    if (plain === "") return;
    // A row for a bare number would match anything: "code 1261".
    this.said.push(key === "code" ? `code ${plain}` : plain);
    const isOnlyStatus = /^\d{3}(?: status code \(no body\))?$/.test(this.sentence ?? "");
    if (CODE_KEYS.has(key)) this.code ??= plain === "error" ? undefined : plain.replace(/^.*#/, "");
    else if (this.sentence === undefined || isOnlyStatus) this.sentence = plain;
  }

  #readNumber(value: number, key: string): void {
    if (key === "code" || key === "status") this.said.push(`code ${value}`);
    if (COUNTING_KEYS.has(key) && !this.numbers.has(key)) this.numbers.set(key, value);
  }
}

/** Reads the own fields, and those of an Error. A getter may throw. */
function fieldsOf(value: object): [string, unknown][] {
  const names = new Set([
    ...Object.keys(value),
    ...(value instanceof Error ? ["message", "cause", "errors"] : []),
  ]);
  return [...names].slice(0, 200).map((name) => {
    try {
      return [name, (value as Record<string, unknown>)[name]];
    } catch {
      return [name, undefined];
    }
  });
}

/** Splits `400 {"error": …}` into its text and its JSON. A list of numbers, as in Qwen's refusals, is text. */
function withoutJson(text: string): { before: string; json?: unknown } {
  const at = text.search(/\{|\[\s*\{/);
  if (at < 0) return { before: text };
  try {
    const json: unknown = JSON.parse(text.slice(at));
    return typeof json === "object" && json !== null ? { before: text.slice(0, at), json } : { before: text };
  } catch {
    return { before: text };
  }
}

function pageTitle(text: string): string {
  if (!/<(?:!doctype|html)/i.test(text)) return text;
  const title = /<title[^>]{0,200}>([^<]{0,500})<\/title>/i.exec(text)?.[1]?.trim();
  return `${text.slice(0, text.search(/<(?:!doctype|html)/i))}${title || "an HTML page"}`;
}
