import { type Fields, type JsonLine, listAt, stringAt, timeAt, typeOf } from "../import/json-lines.ts";
import { NoticeLog } from "../import/notices.ts";
import type { Transcript } from "../import/step.ts";
import { type UuidNode, uuidTree } from "../import/uuid-tree.ts";
import { replayQueue, withDeliveries } from "./queue.ts";
import { ClaudeCodeSteps } from "./steps.ts";

/** Record types without a uuid, with state of the program instead of conversation. */
const STATE_TYPES = new Set([
  ..."file-history-snapshot file-history-delta queue-operation last-prompt mode permission-mode tag".split(
    " ",
  ),
  ..."agent-name agent-color agent-setting pr-link worktree-state attribution-snapshot".split(" "),
  ..."task-summary speculation-accept atis-latch relocated bridge-session bridge_status".split(" "),
]);

/** Reads a transcript of Claude Code: `projects/<folder>/<session>.jsonl`. */
export function readClaudeCode(lines: readonly JsonLine[], notices: NoticeLog): Transcript {
  const main = lines.filter(({ value }) => value.isSidechain !== true);
  const side = lines.filter(({ value }) => value.isSidechain === true);
  if (!main.some(({ value }) => isConversation(value))) {
    notices.add("sub_agent", side[0]?.line);
    return laneTranscript({ lines, lane: lines, notices });
  }
  const transcript = laneTranscript({ lines, lane: main, notices });
  const elsewhere = new Set(main.flatMap(({ value }) => stringAt(value, "uuid") ?? []));
  const subAgents = agentLanes(side).map((lane) => {
    notices.add("sub_agents_apart", lane[0]?.line);
    return laneTranscript({ lines: lane, lane, notices: new NoticeLog(), elsewhere });
  });
  return { ...transcript, subAgents };
}

function isConversation(record: Fields): boolean {
  return (record.type === "user" || record.type === "assistant") && stringAt(record, "uuid") !== undefined;
}

/** Sub-agents in one file: by agent id, in old files by their root. */
function agentLanes(side: readonly JsonLine[]): JsonLine[][] {
  const roots = new Map<string, string>();
  const laneOf = ({ value }: JsonLine) => {
    const uuid = stringAt(value, "uuid")!;
    const root = roots.get(stringAt(value, "parentUuid") ?? "") ?? uuid;
    roots.set(uuid, root);
    return stringAt(value, "agentId") ?? root;
  };
  const records = side.filter(({ value }) => stringAt(value, "uuid") !== undefined);
  return [...Map.groupBy(records, laneOf).values()];
}

function laneTranscript(options: {
  /** All lines, for facts about the whole file. */
  lines: readonly JsonLine[];
  lane: readonly JsonLine[];
  notices: NoticeLog;
  elsewhere?: ReadonlySet<string>;
}): Transcript {
  const { lines, lane, notices } = options;
  const { delivered, left } = replayQueue(lane);
  const nodes = withDeliveries(uuidTree({ ...options, lines: lane }), delivered);
  for (const { endLine } of delivered) notices.add("queued_messages", endLine);
  const steps = new ClaudeCodeSteps(nodes, notices);
  for (const { line, value } of lane) if (!("uuid" in value)) noteState(value, line, steps);
  const leaf = steps.build({ pinned: pinnedLeaf(lane), replacements: replacements(lane), left });
  return {
    id: laneId(nodes, options.elsewhere !== undefined),
    cwd: nodes.map((node) => stringAt(node.record, "cwd")).find((cwd) => cwd !== undefined),
    name: title(lines),
    version: stringAt(nodes[0]?.record, "version"),
    list: steps.list,
    leaf,
  };
}

/** A resumed file can begin with copies from the session before it: the last record names its own. */
function laneId(nodes: readonly UuidNode[], isSubAgent: boolean): string {
  const last = nodes.findLast(({ record }) => stringAt(record, "sessionId") !== undefined)?.record;
  const session = stringAt(last, "sessionId") ?? "unknown";
  const agent = stringAt(last, "agentId") ?? (isSubAgent ? nodes[0]?.uuid : undefined);
  return agent === undefined ? session : `${session}/${agent}`;
}

function noteState(record: Fields, line: number, { list }: ClaudeCodeSteps): void {
  const type = typeOf(record);
  if (type === "summary" || type.endsWith("-title") || type === "content-replacement") return;
  if (!STATE_TYPES.has(type)) list.notices.add("unknown_record", line);
  list.skip(type);
}

/** The latest title; a user's title precedes a model's. */
function title(lines: readonly JsonLine[]): string | undefined {
  const last = (type: string, name: string) =>
    lines.flatMap(({ value }) => (value.type === type ? (stringAt(value, name) ?? []) : [])).at(-1);
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
function replacements(lane: readonly JsonLine[]) {
  const found = new Map<string, { replacement: string; at: string | undefined }>();
  for (const { value } of lane) {
    for (const item of value.type === "content-replacement" ? listAt(value, "replacements") : []) {
      const id = stringAt(item, "toolUseId");
      const replacement = stringAt(item, "replacement");
      if (id !== undefined && replacement !== undefined)
        found.set(id, { replacement, at: timeAt(value, "timestamp") });
    }
  }
  return found;
}
