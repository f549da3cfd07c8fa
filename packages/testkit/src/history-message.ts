import {
  emptyUsage,
  type Message,
  type StopReason,
  type ToolCall,
  type UserContent,
} from "@bonsai-agent/messages";
import type { StoredMessage } from "@bonsai-agent/session";

/** One parsed word of a history notation. */
export interface HistoryToken {
  /** The word's letters: `U`, `A`, `T`, `B`, `X`, `S`, `C`, `E`, `M`, `Z`, `^` or a metadata letter. */
  kind: string;
  /** The text directly after the letters, such as the `1` of `T1`. */
  suffix: string;
  /** The words in parentheses; undefined without parentheses. */
  args: string[] | undefined;
  /** The text in double quotes. */
  text: string | undefined;
  /** `:100`: the size in tokens, four characters each. */
  tokens: number | undefined;
  /** `@190000`: the total tokens of the answer's usage. */
  usageTokens: number | undefined;
  /** `~aborted`: the answer's stop reason. */
  stopReason: string | undefined;
  /** `*2`: how many images. */
  images: number;
  /** `!`: a failed result, or a command that is kept out of the context. */
  flagged: boolean;
}

const word = /^(\^|[A-Za-z])([%\w]*)(?:\(([^)]*)\))?(?:"([^"]*)")?((?:[:@~*][\w.]+|!)*)/;

/** Splits a notation into its words; `|` and line breaks only separate. @throws for an unknown word */
export function parseHistory(notation: string): HistoryToken[] {
  const tokens: HistoryToken[] = [];
  let rest = notation.trimStart();
  while (rest !== "") {
    if (rest.startsWith("|")) {
      rest = rest.slice(1).trimStart();
      continue;
    }
    const match = word.exec(rest);
    const after = match === null ? rest : rest.slice(match[0].length);
    if (match === null || !/^(\s|\||$)/.test(after))
      throw new Error(`Cannot read the history at: ${rest.slice(0, 40)}`);
    tokens.push(token(match));
    rest = after.trimStart();
  }
  return tokens;
}

function token(match: RegExpExecArray): HistoryToken {
  const marks = match[5] ?? "";
  const number = (sign: string) => {
    const found = new RegExp(`\\${sign}(\\d+)`).exec(marks);
    return found === null ? undefined : Number(found[1]);
  };
  return {
    kind: match[1] ?? "",
    suffix: match[2] ?? "",
    args: match[3]?.split(/\s+/).filter((arg) => arg !== ""),
    text: match[4],
    tokens: number(":"),
    usageTokens: number("@"),
    stopReason: /~(\w+)/.exec(marks)?.[1],
    images: number("*") ?? 0,
    flagged: marks.includes("!"),
  };
}

const CHARS_PER_TOKEN = 4;

/** Text of an exact length that begins with a name, so that it can be found again. */
function filler(name: string, chars: number): string {
  const unit = `${name} goes on. `;
  return unit.repeat(Math.ceil(chars / unit.length)).slice(0, chars);
}

/** The text of a word: the quoted text, or filler up to the wanted size of the message. */
export function textOf(token: HistoryToken, name: string, otherChars = 0): string {
  if (token.text !== undefined) return token.text;
  if (token.tokens === undefined) return `${name} text`;
  return filler(name, Math.max(0, token.tokens * CHARS_PER_TOKEN - otherChars));
}

/** The text and the images of a word, as message content. */
export function contentOf(token: HistoryToken, name: string): UserContent[] {
  const images = Array.from({ length: token.images }, () => ({
    type: "image" as const,
    data: "iVBORw0KGgo=",
    mimeType: "image/png",
  }));
  return [{ type: "text", text: textOf(token, name) }, ...images];
}

/** The answer that a word like `A(t1=read:a.ts t2)` stands for. */
export function assistantMessage(token: HistoryToken, name: string, timestamp: number): StoredMessage {
  const calls = (token.args ?? []).map(toolCall);
  const callChars = calls.reduce(
    (sum, call) => sum + call.name.length + JSON.stringify(call.arguments).length,
    0,
  );
  const text = textOf(token, name, callChars);
  const usage = { ...emptyUsage(), input: token.usageTokens ?? 0, totalTokens: token.usageTokens ?? 0 };
  const fallback: StopReason = calls.length > 0 ? "toolUse" : "stop";
  const stopReason = (token.stopReason as StopReason | undefined) ?? fallback;
  return {
    role: "assistant",
    content: [...(text === "" ? [] : [{ type: "text" as const, text }]), ...calls],
    api: "scripted",
    provider: "scripted",
    model: "scripted",
    usage,
    stopReason,
    ...(stopReason === "error" ? { errorMessage: "scripted failure" } : {}),
    timestamp,
  };
}

/** `t1=edit:a.ts`: id, tool, path (or command for bash); the tool is `read` and the path `<id>.ts` by default. */
function toolCall(spec: string): ToolCall {
  const [, id = spec, name = "read", target = `${id}.ts`] =
    /^([^=]+)(?:=([^:]+))?(?::(.*))?$/.exec(spec) ?? [];
  return { type: "toolCall", id, name, arguments: callArguments(name, target) };
}

function callArguments(name: string, target: string): Record<string, unknown> {
  if (name === "bash") return { command: target };
  if (name === "edit") return { path: target, oldText: "old", newText: "new" };
  if (name === "write") return { path: target, content: "content" };
  return { path: target };
}

/** The result that a word like `T1` or `T(t1)` stands for. */
export function toolResultMessage(
  token: HistoryToken,
  call: { id: string; name: string },
  name: string,
  timestamp: number,
): Message & StoredMessage {
  return {
    role: "toolResult",
    toolCallId: call.id,
    toolName: call.name,
    content: contentOf(token, name),
    isError: token.flagged,
    timestamp,
  };
}
