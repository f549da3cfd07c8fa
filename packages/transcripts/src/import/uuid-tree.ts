import { type Fields, type JsonLine, stringAt } from "./json-lines.ts";
import type { NoticeLog } from "./notices.ts";

/** A record of a transcript whose records name their parents by uuid. */
export interface UuidNode {
  uuid: string;
  parent: string | null;
  line: number;
  record: Fields;
}

/**
 * The records that have a uuid, as a forest without repeated records, missing parents and cycles. Parents come first, else
 * the order is that of the file.
 */
export function uuidTree({
  lines,
  elsewhere = new Set(),
  notices,
}: {
  lines: readonly JsonLine[];
  /** Known parents outside of these lines: their children are roots. Default: none. */
  elsewhere?: ReadonlySet<string>;
  notices: NoticeLog;
}): UuidNode[] {
  const nodes = freshNodes(lines, notices);
  addMissingParents(nodes, elsewhere, notices);
  cutCycles(nodes, notices);
  return parentsFirst(nodes);
}

/**
 * Each uuid once. Copies of old history can be appended again, followed by children of the last copy, which would come
 * before everything since: such a child gets the last new record as its parent.
 */
function freshNodes(lines: readonly JsonLine[], notices: NoticeLog): UuidNode[] {
  const nodes = new Map<string, UuidNode>();
  let last: string | null = null;
  let lastCopy: string | undefined;
  for (const { line, value } of lines) {
    const uuid = stringAt(value, "uuid");
    if (uuid === undefined) continue;
    if (nodes.has(uuid)) {
      notices.add("duplicate_record", line);
      lastCopy = uuid;
      continue;
    }
    let parent = stringAt(value, "parentUuid") ?? stringAt(value, "logicalParentUuid") ?? null;
    if (parent !== null && parent === lastCopy) {
      notices.add("reattached", line);
      parent = last;
    }
    nodes.set(uuid, { uuid, parent, line, record: value });
    last = uuid;
    lastCopy = undefined;
  }
  return [...nodes.values()];
}

/** Gives records whose parent is missing or damaged the record before them as their parent. */
function addMissingParents(nodes: UuidNode[], elsewhere: ReadonlySet<string>, notices: NoticeLog): void {
  const known = new Set(nodes.map((node) => node.uuid));
  for (const [index, node] of nodes.entries()) {
    if (node.parent === null || known.has(node.parent)) continue;
    const isRoot = elsewhere.has(node.parent);
    if (!isRoot) notices.add("missing_parent", node.line);
    node.parent = isRoot ? null : (nodes[index - 1]?.uuid ?? null);
  }
}

/** Cuts each cycle at its earliest record, which becomes a child of the nearest sound record before it. */
function cutCycles(nodes: UuidNode[], notices: NoticeLog): void {
  const byUuid = new Map(nodes.map((node) => [node.uuid, node]));
  const sound = new Set<string>();
  nodes.forEach((node, index) => {
    // Records that lead into a cycle are sound once the cycle's earliest record is cut.
    if (repeatedAncestor(node, byUuid, sound) !== node.uuid) return;
    notices.add("parent_cycle", node.line);
    let before = index - 1;
    while (before >= 0 && !sound.has(nodes[before]!.uuid)) before -= 1;
    node.parent = nodes[before]?.uuid ?? null;
    sound.add(node.uuid);
  });
}

/** The first record that the way up from `node` meets twice; undefined when it ends at a root. */
function repeatedAncestor(
  node: UuidNode,
  byUuid: ReadonlyMap<string, UuidNode>,
  sound: Set<string>,
): string | undefined {
  const seen = new Set<string>();
  for (let at: UuidNode | undefined = node; at !== undefined && !sound.has(at.uuid); ) {
    if (seen.has(at.uuid)) return at.uuid;
    seen.add(at.uuid);
    at = at.parent === null ? undefined : byUuid.get(at.parent);
  }
  for (const uuid of seen) sound.add(uuid);
  return undefined;
}

function parentsFirst(nodes: readonly UuidNode[]): UuidNode[] {
  const placed = new Set<string | null>([null]);
  const waiting = new Map<string | null, UuidNode[]>();
  const ordered: UuidNode[] = [];
  for (const node of nodes) {
    if (!placed.has(node.parent)) {
      const siblings = waiting.get(node.parent) ?? [];
      waiting.set(node.parent, siblings);
      siblings.push(node);
      continue;
    }
    const ready = [node];
    // `ready` grows during the loop.
    for (const next of ready) {
      ordered.push(next);
      placed.add(next.uuid);
      for (const child of waiting.get(next.uuid) ?? []) ready.push(child);
      waiting.delete(next.uuid);
    }
  }
  return ordered;
}
