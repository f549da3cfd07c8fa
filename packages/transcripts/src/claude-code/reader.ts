import { type Fields, isoTime, type JsonLine, stringAt } from "../import/json-lines.ts";
import { NoticeLog } from "../import/notices.ts";
import { countSkipped, type Transcript } from "../import/step.ts";
import { type UuidNode, uuidTree } from "../import/uuid-tree.ts";
import { replayQueue, withDeliveries } from "./queue.ts";
import { ClaudeCodeSteps } from "./steps.ts";

/** Record types without a uuid, with state of the program instead of conversation. */
const STATE_TYPES = new Set([
  "file-history-snapshot",
  "file-history-delta",
  "queue-operation",
  "last-prompt",
  "mode",
  "permission-mode",
  "tag",
  "agent-name",
  "agent-color",
  "agent-setting",
  "pr-link",
  "worktree-state",
  "attribution-snapshot",
  "task-summary",
  "speculation-accept",
  "atis-latch",
  "relocated",
  "bridge-session",
  "bridge_status",
]);

/** Reads a transcript of Claude Code: `projects/<folder>/<session>.jsonl`. */
export function readClaudeCode(lines: readonly JsonLine[], notices: NoticeLog): Transcript {
  const main = lines.filter(({ value }) => value.isSidechain !== true);
  const side = lines.filter(({ value }) => value.isSidechain === true);
  if (!main.some(({ value }) => isConversation(value))) {
    notices.add("sub_agent", side[0]?.line);
    return laneTranscript({ lines, lane: lines, notices, elsewhere: new Set() });
  }
  const transcript = laneTranscript({ lines, lane: main, notices, elsewhere: new Set() });
  const elsewhere = new Set(main.flatMap(({ value }) => stringAt(value, "uuid") ?? []));
  transcript.subAgents = agentLanes(side).map((lane) => {
    notices.add("sub_agents_apart", lane[0]?.line);
    return laneTranscript({ lines: lane, lane, notices: new NoticeLog(), elsewhere });
  });
  return transcript;
}

function isConversation(record: Fields): boolean {
  return (record.type === "user" || record.type === "assistant") && stringAt(record, "uuid") !== undefined;
}

/** Sub-agents in one file: by agent id, in old files by the root that they hang on. */
function agentLanes(side: readonly JsonLine[]): JsonLine[][] {
  const roots = new Map<string, string>();
  const lanes = new Map<string, JsonLine[]>();
  for (const entry of side) {
    const uuid = stringAt(entry.value, "uuid");
    if (uuid === undefined) continue;
    const parent = stringAt(entry.value, "parentUuid");
    const root = (parent === undefined ? undefined : roots.get(parent)) ?? uuid;
    roots.set(uuid, root);
    const lane = stringAt(entry.value, "agentId") ?? root;
    const known = lanes.get(lane);
    if (known === undefined) lanes.set(lane, [entry]);
    else known.push(entry);
  }
  return [...lanes.values()];
}

function laneTranscript(options: {
  /** All lines, for what concerns the whole file. */
  lines: readonly JsonLine[];
  lane: readonly JsonLine[];
  notices: NoticeLog;
  elsewhere: ReadonlySet<string>;
}): Transcript {
  const { lines, lane, notices, elsewhere } = options;
  const { delivered, left } = replayQueue(lane);
  const nodes = withDeliveries(uuidTree({ lines: lane, elsewhere, notices }), delivered);
  for (const { endLine } of delivered) notices.add("queued_messages", endLine);
  const skipped = new Map<string, number>();
  const steps = new ClaudeCodeSteps({ nodes, notices, skipped });
  for (const { line, value } of lane) if (!("uuid" in value)) noteState(value, line, { notices, skipped });
  const leaf = steps.build({ pinned: pinnedLeaf(lane), replacements: replacements(lane), left });
  const first = nodes[0]?.record;
  return {
    id: laneId(nodes, options),
    cwd: nodes.map((node) => stringAt(node.record, "cwd")).find((cwd) => cwd !== undefined),
    name: title(lines),
    version: stringAt(first, "version"),
    steps: steps.list.steps,
    leaf,
    notices,
    skipped,
    subAgents: [],
  };
}

/** A resumed file can begin with copies from the session before it: the last record names its own. */
function laneId(nodes: readonly UuidNode[], { elsewhere }: { elsewhere: ReadonlySet<string> }): string {
  const last = nodes.findLast(({ record }) => stringAt(record, "sessionId") !== undefined)?.record;
  const session = stringAt(last, "sessionId") ?? "unknown";
  const agent = stringAt(last, "agentId");
  if (agent !== undefined) return `${session}/${agent}`;
  return elsewhere.size === 0 ? session : `${session}/${nodes[0]?.uuid}`;
}

function noteState(
  record: Fields,
  line: number,
  { notices, skipped }: { notices: NoticeLog; skipped: Map<string, number> },
): void {
  const type = stringAt(record, "type") ?? "untyped";
  if (type === "summary" || type.endsWith("-title") || type === "content-replacement") return;
  if (!STATE_TYPES.has(type)) notices.add("unknown_record", line);
  countSkipped(skipped, type);
}

/** The latest title; a user's title precedes a model's. */
function title(lines: readonly JsonLine[]): string | undefined {
  const last = (type: string, name: string) =>
    stringAt(
      lines.findLast(({ value }) => value.type === type && stringAt(value, name) !== undefined)?.value,
      name,
    );
  return (
    last("custom-title", "customTitle") ??
    last("ai-title", "aiTitle") ??
    last("ai-title", "title") ??
    last("summary", "summary")
  );
}

/** The leaf that the user chose by rewinding, until a compaction or another prompt replaces it. */
function pinnedLeaf(lane: readonly JsonLine[]): string | undefined {
  let pinned: string | undefined;
  for (const { value } of lane) {
    if (value.subtype === "compact_boundary") pinned = undefined;
    const leaf = value.type === "last-prompt" ? stringAt(value, "leafUuid") : undefined;
    if (leaf === undefined) continue;
    if (value.explicit === true) pinned = leaf;
    else if (leaf !== pinned) pinned = undefined;
  }
  return pinned;
}

/** The replacements for the content of tool results in the model's view, by call id. */
function replacements(
  lane: readonly JsonLine[],
): Map<string, { replacement: string; at: string | undefined }> {
  const found = new Map<string, { replacement: string; at: string | undefined }>();
  for (const { value } of lane) {
    if (value.type !== "content-replacement" || !Array.isArray(value.replacements)) continue;
    for (const item of value.replacements as Fields[]) {
      const id = stringAt(item, "toolUseId");
      const replacement = stringAt(item, "replacement");
      if (id !== undefined && replacement !== undefined)
        found.set(id, { replacement, at: isoTime(value.timestamp) });
    }
  }
  return found;
}
