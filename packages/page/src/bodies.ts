import {
  callParts,
  contentBlocks,
  isRecord,
  jsonText,
  type Message,
  readableSummary,
  type ToolCall,
  type ToolResultMessage,
  typedText,
} from "@bonsai-agent/messages";
import { withoutTerminalControls } from "@bonsai-agent/messages/host";
import { bytes, lineText } from "@bonsai-agent/messages/numbers";
import { type Entry, type EntryOf, pinChange } from "@bonsai-agent/session";
import { type BodyPart, type CodePart, type DiffPart, type EntryBody, isPicture } from "./page-data.ts";
import { recordWord, rowKind } from "./rows.ts";

const TITLE_CHARS = 200;

/** The call of a result. */
export interface AskedCall {
  call: ToolCall;
  /** The answer made no other call. */
  isOnly: boolean;
}

export type CallOf = (result: ToolResultMessage) => AskedCall | undefined;

/** An entry in full, as it is stored. */
export function entryBody(entry: Entry, callOf: CallOf): EntryBody {
  if (entry.type !== "message") return { parts: otherParts(entry) };
  if (!isRecord(entry.message))
    return { parts: [{ type: "error", text: "This entry has no readable message." }] };
  const message = entry.message as Message;
  const asked = message.role === "toolResult" ? callOf(message) : undefined;
  return { parts: messageParts(message, asked) };
}

function messageParts(message: Message, asked: AskedCall | undefined): BodyPart[] {
  switch (message.role) {
    case "user":
      return userParts(message);
    case "assistant":
      return [...contentBlocks(message.content).flatMap(answerPart), ...stopParts(message)];
    case "toolResult":
      return [outputOf(message, asked), ...imagesOf(message.content)];
    case "bashExecution":
      return commandParts(message);
    default:
      return "content" in message
        ? [...markdown(textOf(message.content)), ...imagesOf(message.content)]
        : [{ type: "text", text: jsonText(message, 2) }];
  }
}

function userParts(message: Message & { role: "user" }): BodyPart[] {
  const said = textOf(message.content);
  const typed = String(typedText(message));
  const sent: BodyPart[] =
    typed === said ? [] : [{ type: "output", text: said, isError: false, language: "markdown" }];
  return [...markdown(typed), ...sent, ...imagesOf(message.content)];
}

function answerPart(block: Record<string, unknown> & { type: string }): BodyPart[] {
  if (block.type === "text") return markdown(text(block.text));
  if (block.type === "thinking") {
    const said = text(block.thinking);
    return said === "" ? [] : [{ type: "thinking", text: said }];
  }
  if (block.type === "toolCall") return [callPart(block as unknown as ToolCall)];
  if (block.type === "image") return imagesOf([block]);
  return [{ type: "text", text: jsonText(block, 2) }];
}

function stopParts(message: Message & { role: "assistant" }): BodyPart[] {
  if (message.stopReason === "error")
    return [
      {
        type: "error",
        text: text(message.errorMessage) || "The request failed. The provider gave no reason.",
      },
    ];
  if (message.stopReason === "aborted")
    return [{ type: "error", text: "This answer was stopped before it was complete." }];
  if (message.stopReason === "length")
    return [{ type: "error", text: "This answer is incomplete: it reached the output limit." }];
  return [];
}

function commandParts(message: Message & { role: "bashExecution" }): BodyPart[] {
  const isError = message.cancelled === true || (message.exitCode ?? 0) !== 0;
  const facts: Array<[string, string]> = [];
  if (typeof message.exitCode === "number") facts.push(["Exit code", String(message.exitCode)]);
  if (message.cancelled === true) facts.push(["Cancelled", "yes"]);
  if (message.excludeFromContext === true) facts.push(["Seen by the model", "no"]);
  return [
    { type: "output", text: `$ ${text(message.command)}`, isError: false, language: "bash" },
    { type: "output", text: plain(text(message.output)), isError },
    ...(facts.length === 0 ? [] : [{ type: "facts" as const, rows: facts }]),
  ];
}

/** A call. Written text is shown as code, a change as a diff; the arguments omit both. */
function callPart(call: ToolCall): BodyPart {
  const args: Record<string, unknown> = isRecord(call.arguments) ? { ...call.arguments } : {};
  const path = pathIn(args);
  const change = changeIn(args, path);
  for (const key of change.taken) delete args[key];
  const { code, diff } = change;
  return {
    type: "call",
    id: text(call.id),
    name: text(call.name),
    title: lineText(callParts(call.name, call.arguments), TITLE_CHARS),
    arguments: Object.keys(args).length === 0 ? "" : jsonText(args, 2),
    ...(code !== undefined && { code }),
    ...(diff !== undefined && { diff }),
  };
}

const pathKeys = ["path", "file_path", "filePath", "filename", "notebook_path", "target_file"];
const wholeKeys = ["content", "contents", "file_text", "new_source"];
const beforeKeys = ["oldText", "old_string", "oldString", "old_str"];
const afterKeys = ["newText", "new_string", "newString", "new_str"];
const patchKeys = ["patch", "diff", "patchText", "patch_text", "input"];

function pathIn(args: Record<string, unknown>): string {
  const key = pathKeys.find((each) => typeof args[each] === "string");
  return key === undefined ? "" : text(args[key]);
}

interface Change {
  taken: string[];
  code?: CodePart;
  diff?: DiffPart;
}

function changeIn(args: Record<string, unknown>, path: string): Change {
  const named = (keys: readonly string[]) => keys.find((key) => typeof args[key] === "string");
  const [before, after] = [named(beforeKeys), named(afterKeys)];
  if (before !== undefined && after !== undefined)
    return { taken: [before, after], diff: { path, before: text(args[before]), after: text(args[after]) } };
  const edits = Array.isArray(args.edits) ? args.edits.filter(isRecord) : [];
  const pairs = edits.map((edit) => changeIn(edit, path).diff).filter((diff) => diff !== undefined);
  if (pairs.length > 0 && pairs.length === edits.length)
    return { taken: ["edits"], diff: joined(path, pairs) };
  const patch = named(patchKeys);
  if (patch !== undefined && /^(?:---|\+\+\+|@@|\*\*\* )/m.test(text(args[patch])))
    return { taken: [patch], diff: { path, unified: text(args[patch]) } };
  const whole = named(wholeKeys);
  const language = languageOf(path);
  if (whole !== undefined && path !== "")
    return { taken: [whole], code: { path, text: text(args[whole]), ...(language && { language }) } };
  const command = named(["command", "cmd", "script"]);
  if (command !== undefined)
    return { taken: [command], code: { path: "", text: text(args[command]), language: "bash" } };
  return { taken: [] };
}

function joined(path: string, diffs: readonly DiffPart[]): DiffPart {
  const side = (name: "before" | "after") =>
    diffs.map((diff) => ("unified" in diff ? diff.unified : diff[name])).join("\n⋮\n");
  return { path, before: side("before"), after: side("after") };
}

function outputOf(message: ToolResultMessage, asked: AskedCall | undefined): BodyPart {
  const call = asked?.call;
  const details = isRecord(message.details) ? message.details : {};
  const path = typeof details.path === "string" ? details.path : pathIn(call?.arguments ?? {});
  const unified = [details.patch, details.diff].find((each) => typeof each === "string" && each !== "");
  // A file that was read looks as its name says; whatever else a tool says is plain.
  const language = /^(?:read|view|cat)/i.test(text(message.toolName)) ? languageOf(path) : undefined;
  return {
    type: "output",
    call: call === undefined || asked?.isOnly ? text(message.toolName) : shortCall(call),
    text: plain(textOf(message.content)),
    isError: message.isError === true,
    ...(language !== undefined && { language }),
    ...(unified !== undefined && { diff: { path, unified: text(unified) } }),
  };
}

/** A short name for one of several calls: the tool, and a file name or the first words. */
function shortCall({ name, arguments: args }: ToolCall): string {
  const [tool, main] = callParts(name, args);
  if (main === undefined) return tool?.text ?? "";
  return `${tool!.text}${lineText([main], SHORT_CALL_CHARS)}`;
}

const SHORT_CALL_CHARS = 24;

function imagesOf(content: unknown): BodyPart[] {
  return contentBlocks(content).flatMap((block) => (block.type === "image" ? [imageOf(block)] : []));
}

function imageOf(block: Record<string, unknown> & { type: string }): BodyPart {
  const [mimeType, data] = [text(block.mimeType), text(block.data)];
  if (isPicture(block)) return { type: "image", mimeType, data };
  const size = bytes((data.length * 3) / 4);
  return { type: "text", text: `Image not shown (${mimeType || "unknown type"}, ${size}).` };
}

type OtherType = Exclude<Entry["type"], "message">;

/** The body of each type of entry. A type without one does not compile. */
const TYPE_PARTS: { readonly [Type in OtherType]: (entry: EntryOf<Type>) => BodyPart[] } = {
  compaction: ({ summary }) => markdown(readableSummary(text(summary))),
  branch_summary: ({ summary }) => markdown(readableSummary(text(summary))),
  context_edit: maskParts,
  custom_message: noteParts,
  custom: recordParts,
  model_change: ({ provider, modelId }) => notePart(`${text(provider)}/${text(modelId)}`),
  thinking_level_change: ({ thinkingLevel }) => notePart(text(thinkingLevel)),
  session_info: ({ name }) => notePart(text(name) || "Removed the session's name."),
  label: ({ label }) => notePart(label === undefined ? "Removed a label." : text(label)),
  usage: fieldParts,
};

function otherParts(entry: EntryOf<OtherType>): BodyPart[] {
  if (!Object.hasOwn(TYPE_PARTS, entry.type)) return fieldParts(entry);
  return (TYPE_PARTS[entry.type] as (entry: Entry) => BodyPart[])(entry);
}

function noteParts(entry: EntryOf<"custom_message">): BodyPart[] {
  const pin = pinChange(entry);
  if (pin !== undefined) return markdown(pin.text);
  return [...markdown(textOf(entry.content)), ...imagesOf(entry.content)];
}

/** All fields of an entry. */
function fieldParts(entry: Entry): BodyPart[] {
  const { id: _id, parentId: _parent, timestamp: _time, type, ...fields } = entry;
  const rows = Object.entries(fields).map(([name, value]): [string, string] => [
    name,
    typeof value === "string" ? value : jsonText(value),
  ]);
  return [{ type: "facts", rows: [["Type", String(type)], ...rows] }];
}

function notePart(text: string): BodyPart[] {
  return [{ type: "text", text }];
}

function sentence(words: string): string {
  return `${words[0]!.toUpperCase()}${words.slice(1)}.`;
}

function recordParts(entry: Entry & { type: "custom" }): BodyPart[] {
  const kind = rowKind(entry);
  if (kind !== "custom") return notePart(sentence(recordWord(entry)));
  return [{ type: "facts", rows: [["Record", recordWord(entry)]] }, ...json(entry.data)];
}

function maskParts(entry: Entry & { type: "context_edit" }): BodyPart[] {
  const rows: Array<[string, string]> = [["Masked entry", text(entry.targetId)]];
  const shown = isRecord(entry.replacement) ? textOf(entry.replacement.content) : "";
  rows.push(["The model sees", entry.replacement === null ? "nothing" : shown]);
  return [{ type: "facts", rows: rows.filter(([, value]) => value !== "") }];
}

function markdown(said: string): BodyPart[] {
  return said.trim() === "" ? [] : [{ type: "markdown", text: said }];
}

function json(value: unknown): BodyPart[] {
  return value === undefined ? [] : [{ type: "text", text: jsonText(value, 2) }];
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  return contentBlocks(content)
    .flatMap((block) => (block.type === "text" ? [text(block.text)] : []))
    .join("\n");
}

function plain(said: string): string {
  return withoutTerminalControls(said);
}

/** Damaged entries hold anything where a word should be. */
function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

const languages: Readonly<Record<string, string>> = {
  ...{ ts: "typescript", tsx: "typescript", mts: "typescript", cts: "typescript", js: "javascript" },
  ...{ jsx: "javascript", mjs: "javascript", cjs: "javascript", json: "json", jsonl: "json", py: "python" },
  ...{ rs: "rust", go: "go", java: "java", kt: "kotlin", c: "c", h: "c", cpp: "cpp", hpp: "cpp", cc: "cpp" },
  ...{ cs: "csharp", rb: "ruby", php: "php", swift: "swift", sh: "bash", bash: "bash", zsh: "bash" },
  ...{ css: "css", scss: "css", html: "xml", xml: "xml", svg: "xml", vue: "xml", md: "markdown" },
  ...{ sql: "sql", yml: "yaml", yaml: "yaml", toml: "ini", ini: "ini", diff: "diff", patch: "diff" },
};

function languageOf(path: string): string | undefined {
  const ending = /\.([a-z0-9]+)$/i.exec(path)?.[1]?.toLowerCase() ?? "";
  return Object.hasOwn(languages, ending) ? languages[ending] : undefined;
}
