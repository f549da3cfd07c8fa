import { isAbsolute, resolve } from "node:path";
import type * as acp from "@agentclientprotocol/sdk";
import { callParts, isRecord, type UserContent } from "@bonsai-agent/messages";
import { CALL_ARGUMENTS } from "@bonsai-agent/messages/host";
import { lineText } from "@bonsai-agent/messages/numbers";

const TITLE_CHARS = 120;

const kinds: Readonly<Record<string, acp.ToolKind>> = {
  ...{ read: "read", ls: "read", write: "edit", edit: "edit", bash: "execute" },
  ...{ grep: "search", find: "search", recall: "search", todo: "think", task: "think" },
};

/** Makes ids that are unique in a session: some providers repeat theirs. */
export class CallIds {
  readonly #counts = new Map<string, number>();

  next(id: string): string {
    const count = (this.#counts.get(id) ?? 0) + 1;
    this.#counts.set(id, count);
    return count === 1 ? id : `${id}#${count}`;
  }
}

type Arguments = Readonly<Record<string, unknown>>;

/** A call of a tool, as it begins. */
export function toolCall(
  id: string,
  { name, args, cwd }: { name: string; args: Arguments; cwd: string },
): acp.ToolCall {
  const diffs = plannedDiffs(args, cwd);
  return {
    toolCallId: id,
    title: lineText(callParts(name, args), TITLE_CHARS),
    name,
    kind: kinds[name] ?? (typeof args.command === "string" ? "execute" : "other"),
    status: "in_progress",
    rawInput: args,
    locations: locationsOf(args, cwd),
    ...(diffs.length > 0 && { content: diffs }),
  };
}

function pathOf(args: Arguments, cwd: string): string | undefined {
  const key = CALL_ARGUMENTS.path.find((each) => typeof args[each] === "string" && args[each] !== "");
  return key && resolve(cwd, args[key] as string);
}

function locationsOf(args: Arguments, cwd: string): acp.ToolCallLocation[] {
  const path = pathOf(args, cwd);
  const line = typeof args.offset === "number" ? { line: args.offset } : {};
  return path === undefined ? [] : [{ path, ...line }];
}

/** The changes that `edit` and `write` ask for, before the file is read. */
function plannedDiffs(args: Arguments, cwd: string): acp.ToolCallContent[] {
  const path = pathOf(args, cwd);
  if (path === undefined) return [];
  const { edits = [], content } = args;
  const single = { oldText: args.oldText, newText: args.newText };
  const wanted = [...(Array.isArray(edits) ? (edits as unknown[]) : []), single].filter(isRecord);
  const changes = wanted.flatMap(({ oldText, newText }) =>
    typeof oldText === "string" && typeof newText === "string" ? [diff(path, oldText, newText)] : [],
  );
  return typeof content === "string" ? [diff(path, null, content)] : changes;
}

function diff(path: string, oldText: string | null, newText: string): acp.ToolCallContent {
  return { type: "diff", path, oldText, newText };
}

interface EndedCall {
  content: readonly UserContent[];
  details?: unknown;
  isError?: boolean | undefined;
  /** The call, as it began; undefined if it is unknown. */
  call: acp.ToolCall | undefined;
  cwd: string;
  /** True if a terminal of the client shows the output. */
  hasTerminal?: boolean;
}

/** The result of a call: its diffs, or its text and images. */
export function toolResult(id: string, ended: EndedCall): acp.ToolCallUpdate {
  const { content, details, isError = false, call, cwd, hasTerminal = false } = ended;
  const diffs = isError || !isRecord(details) ? [] : doneDiffs(details, cwd);
  // A new file is shown as it was planned.
  const isPlanned = !isError && diffs.length === 0 && call?.content?.[0]?.type === "diff";
  const shown = diffs.length > 0 ? diffs : content.map((block) => contentOf(block, call?.kind));
  const line = isRecord(details) && typeof details.firstChangedLine === "number" && details.firstChangedLine;
  const place = call?.locations?.[0];
  return {
    toolCallId: id,
    status: isError ? "failed" : "completed",
    ...(!hasTerminal && !isPlanned && { content: shown }),
    ...(line && place && { locations: [{ ...place, line }] }),
  };
}

/** Output of a command keeps its columns. */
export function contentOf(block: UserContent, kind?: acp.ToolKind): acp.ToolCallContent {
  if (block.type !== "text") return { type: "content", content: block };
  const fence = "`".repeat(Math.max(3, ...[...block.text.matchAll(/`+/g)].map(([run]) => run.length + 1)));
  const text = kind === "execute" ? `${fence}\n${block.text}\n${fence}` : block.text;
  return { type: "content", content: { type: "text", text } };
}

/** Each hunk of the stored difference, as the texts before and after it. */
function doneDiffs({ path, diff: stored }: Arguments, cwd: string): acp.ToolCallContent[] {
  if (typeof path !== "string" || typeof stored !== "string" || stored === "") return [];
  const whole = isAbsolute(path) ? path : resolve(cwd, path);
  return stored
    .split(/^@@ .*\n/m)
    .slice(1)
    .map((hunk) => {
      const lines = hunk.replace(/\n$/, "").split("\n");
      const side = (marks: string) =>
        lines
          .filter((line) => marks.includes(line.charAt(0)))
          .map((line) => line.slice(1))
          .join("\n");
      return diff(whole, side(" -"), side(" +"));
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
