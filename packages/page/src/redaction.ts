import { redactSecrets } from "@bonsai-agent/transcripts";

/** Shorter ones stand in too many words. */
const LEAST_SECRET_CHARS = 8;

/** Takes what looks like a key, and keys that are known, out of what a page says. */
export class Redaction {
  /** How many were taken out so far. */
  count = 0;
  readonly #isOn: boolean;
  readonly #secrets: readonly string[];

  constructor(isOn: boolean, secrets: readonly string[]) {
    this.#isOn = isOn;
    this.#secrets = secrets.filter((secret) => secret.length >= LEAST_SECRET_CHARS);
  }

  readonly text = (text: string): string => {
    if (!this.#isOn) return text;
    let said = text;
    for (const secret of this.#secrets) {
      const parts = said.split(secret);
      this.count += parts.length - 1;
      said = parts.join("[redacted: stored key]");
    }
    const { text: redacted, count } = redactSecrets(said);
    this.count += count;
    return redacted;
  };

  /** The same with every text in a value of plain data, but for `data`, which holds bytes. */
  value<Value>(value: Value): Value {
    if (!this.#isOn) return value;
    return this.#within(value) as Value;
  }

  #within(value: unknown): unknown {
    if (typeof value === "string") return this.text(value);
    if (Array.isArray(value)) return value.map((each) => this.#within(each));
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, each]) => [key, key === "data" ? each : this.#within(each)]),
    );
  }
}
