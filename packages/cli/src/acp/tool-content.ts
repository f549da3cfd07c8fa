import { resolve } from "node:path";
import type * as acp from "@agentclientprotocol/sdk";
import { callParts, isRecord, type UserContent } from "@bonsai-agent/messages";
import { CALL_ARGUMENTS } from "@bonsai-agent/messages/host";
import { lineText } from "@bonsai-agent/messages/numbers";

const TITLE_CHARS = 120;

const kinds: Readonly<Record<string, acp.ToolKind>> = {
  ...{ read: "read", ls: "read", write: "edit", edit: "edit", bash: "execute" },
  ...{ grep: "search", find: "search", recall: "search", todo: "think", task: "think" },
};

export type Arguments = Readonly<Record<string, unknown>>;

/** A call of a tool, as it begins, with the changes that `edit` and `write` ask for. */
export function toolCall(
  toolCallId: string,
  { name, args, cwd }: { name: string; args: Arguments; cwd: string },
): acp.ToolCall {
  const key = CALL_ARGUMENTS.path.find((each) => typeof args[each] === "string" && args[each] !== "");
  const path = key && resolve(cwd, args[key] as string);
  const diffs = path === undefined ? [] : plannedDiffs(path, args);
  return {
    toolCallId,
    title: lineText(callParts(name, args), TITLE_CHARS),
    name,
    kind: kinds[name] ?? (typeof args.command === "string" ? "execute" : "other"),
    status: "in_progress",
    rawInput: args,
    locations:
      path === undefined ? [] : [{ path, ...(typeof args.offset === "number" && { line: args.offset }) }],
    ...(diffs.length > 0 && { content: diffs }),
  };
}

function plannedDiffs(path: string, args: Arguments): acp.ToolCallContent[] {
  const { edits, content } = args;
  if (typeof content === "string") return [{ type: "diff", path, oldText: null, newText: content }];
  const changes: unknown[] = Array.isArray(edits) ? [...edits, args] : [args];
  return changes
    .filter(isRecord)
    .flatMap(({ oldText, newText }) =>
      typeof oldText === "string" && typeof newText === "string"
        ? [{ type: "diff", path, oldText, newText }]
        : [],
    );
}

export interface EndedCall {
  content: readonly UserContent[];
  details?: unknown;
  isError?: boolean | undefined;
}

/** The result of a call: its diffs, or its text and images. */
export function toolResult(
  { content, details, isError = false }: EndedCall,
  call: acp.ToolCall | undefined,
  cwd: string,
): Omit<acp.ToolCallUpdate, "toolCallId"> {
  if (isError || !isRecord(details)) details = {};
  const { firstChangedLine: line, path, diff } = details as Arguments;
  const diffs = typeof path === "string" && typeof diff === "string" ? hunks(resolve(cwd, path), diff) : [];
  // A new file is shown as it was planned.
  const isPlanned = !isError && diffs.length === 0 && call?.content?.[0]?.type === "diff";
  const place = call?.locations?.[0];
  return {
    status: isError ? "failed" : "completed",
    ...(!isPlanned && {
      content: diffs.length > 0 ? diffs : content.map((block) => contentOf(block, call?.kind)),
    }),
    ...(typeof line === "number" && place && { locations: [{ ...place, line }] }),
  };
}

/** Output of a command keeps its columns. */
export function contentOf(block: UserContent, kind?: acp.ToolKind): acp.ToolCallContent {
  if (block.type !== "text" || kind !== "execute") return { type: "content", content: block };
  const fence = "`".repeat(Math.max(3, ...[...block.text.matchAll(/`+/g)].map(([run]) => run.length + 1)));
  return { type: "content", content: { type: "text", text: `${fence}\n${block.text}\n${fence}` } };
}

/** Each hunk of a stored difference, as the texts before and after it. */
function hunks(path: string, diff: string): acp.ToolCallContent[] {
  return diff
    .split(/^@@ .*\n/m)
    .slice(1)
    .map((hunk) => {
      const lines = hunk.replace(/\n$/, "").split("\n");
      const side = (marks: string) =>
        lines.flatMap((line) => (marks.includes(line.charAt(0)) ? [line.slice(1)] : [])).join("\n");
      return { type: "diff", path, oldText: side(" -"), newText: side(" +") };
    });
}

/** The plan of a to-do tool's result; undefined for any other result. */
export function planOf(details: unknown): acp.PlanEntry[] | undefined {
  if (!isRecord(details) || !Array.isArray(details.todos)) return undefined;
  const todos = details.todos.filter(isRecord);
  const next = todos.findIndex(({ done }) => done !== true);
  return todos.map(({ text, done }, at) => ({
    content: String(text),
    priority: "medium",
    status: done === true ? "completed" : at === next ? "in_progress" : "pending",
  }));
}
