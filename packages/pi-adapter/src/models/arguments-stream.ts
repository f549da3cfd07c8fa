/** Growth of the text that causes another read: the time for all reads stays linear. */
const growth = 1.1;

/** The arguments of a call of a tool while a model writes them, for providers that stream by themselves. */
export class ToolCallArgumentsStream {
  #text = "";
  #readLength = 0;
  #arguments: Record<string, unknown> = {};

  get text(): string {
    return this.#text;
  }

  /** Returns the known arguments. */
  append(delta: string): Record<string, unknown> {
    this.#text += delta;
    if (this.#text.length < this.#readLength * growth) return this.#arguments;
    this.#readLength = this.#text.length;
    this.#arguments = objectIn(closed(this.#text)) ?? this.#arguments;
    return this.#arguments;
  }

  /** Replaces the text. `delta`: the missing rest, if the new text continues the old one. */
  replace(text: string): { delta: string | undefined; arguments: Record<string, unknown> } {
    const delta = text.startsWith(this.#text) ? text.slice(this.#text.length) : undefined;
    this.#text = "";
    this.#readLength = 0;
    return { delta, arguments: this.append(text) };
  }

  /** The whole arguments. */
  finish(): { arguments: Record<string, unknown>; argumentsError?: string } {
    if (this.#text.trim() === "") return { arguments: {} };
    const read = objectIn(this.#text);
    if (read !== undefined) return { arguments: read };
    return { arguments: {}, argumentsError: "The arguments are not a JSON object." };
  }
}

function objectIn(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** Completes a text of JSON that ends too early. Drops unfinished values, except texts. */
function closed(text: string): string {
  const open: string[] = [];
  let isInText = false;
  /** The last place where all open brackets can be closed. */
  let sound = { at: 0, open: "" };
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at]!;
    if (isInText) {
      if (character === "\\") at += 1;
      else if (character === '"') isInText = false;
      continue;
    }
    if (character === '"') isInText = true;
    else if (character === "{" || character === "[") open.unshift(character === "{" ? "}" : "]");
    else if (character === "}" || character === "]") open.shift();
    else if (character !== ",") continue;
    const end = character === "," ? at : at + 1;
    if (!isInText) sound = { at: end, open: open.join("") };
  }
  const whole = `${text.replace(isInText ? /\\(?:u[0-9a-f]{0,3})?$/i : /[\s,:]+$/, "")}${isInText ? '"' : ""}${open.join("")}`;
  return objectIn(whole) === undefined ? text.slice(0, sound.at) + sound.open : whole;
}
