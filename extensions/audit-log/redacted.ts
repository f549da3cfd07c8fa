import { isSecretName, redactSecrets, textHead, textTail } from "@bonsai-agent/extension";

/** A longer text keeps its head and tail. */
const MAX_CHARS = 20_000;

/** A copy for JSON: without secrets, signals and functions, and with shortened texts. */
export function redacted(value: unknown, seen: readonly object[] = []): unknown {
  if (typeof value === "string") return shortened(redactSecrets(value));
  if (typeof value === "bigint") return String(value);
  if (typeof value !== "object" || value === null) return typeof value === "function" ? undefined : value;
  if (seen.includes(value)) return "[circular]";
  if (value instanceof AbortSignal) return undefined;
  const inside = [...seen, value];
  if (Array.isArray(value)) return value.map((each) => redacted(each, inside));
  const fields = value instanceof Error ? { ...value, name: value.name, message: value.message } : value;
  return Object.fromEntries(
    Object.entries(fields).map(([key, each]) => [key, redactedField(key, each, fields, inside)]),
  );
}

function redactedField(
  key: string,
  value: unknown,
  { type, mimeType }: { type?: unknown; mimeType?: unknown },
  inside: readonly object[],
): unknown {
  if (typeof value === "string" && (isSecretName(key) || /^(?:authorization|(?:set-)?cookie)$/i.test(key)))
    return "[redacted]";
  if (key === "data" && typeof value === "string" && (type === "image" || mimeType !== undefined))
    return `[${value.length} characters of base64]`;
  return redacted(value, inside);
}

function shortened(text: string): string {
  if (text.length <= MAX_CHARS) return text;
  const half = MAX_CHARS / 2;
  const [head, tail] = [textHead(text, half), textTail(text, half)];
  return `${head}[${text.length - head.length - tail.length} characters omitted]${tail}`;
}
