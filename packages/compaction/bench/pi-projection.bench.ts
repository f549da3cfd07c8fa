import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Lifecycle } from "@bonsai-agent/lifecycle";
import { contentText } from "@bonsai-agent/messages";
import { createSession, customTypes, type Entry, openSession, type Session } from "@bonsai-agent/session";
import { compactionChange } from "@bonsai-agent/session/host";
import { type BenchTable, history, importFromPi, piVersion, treeArbitrary } from "@bonsai-agent/testkit";
import fc from "fast-check";
import {
  type CompactionEvents,
  compactionEventRules,
  compactionSettings,
  mergeBranch,
  navigateTree,
  pinMessage,
  pinnedTexts,
  runCompaction,
  unpinMessage,
} from "../src/index.ts";

/*
 * Writes random sessions with our own code and all its kinds of entries, opens them with pi, and compares both views at
 * each entry. pi is installed from the registry, unless `BONSAI_BENCH_PEER` names a folder that has it.
 *
 * The comparison leaves out intended differences: commands that the user kept out of the context, which pi removes only
 * for the request; pi's own `system` messages, which we never show; the output of an edited command, which pi cannot
 * edit; the id of a summary's entry, which pi takes from the restating entry after an undo or a redo.
 */
const TREES = Number(process.env.BENCH_TREES ?? 300);
const SEED = Number(process.env.BENCH_SEEDS ?? 1);

interface PiMessage {
  role: string;
  content?: unknown;
  summary?: string;
  command?: string;
  excludeFromContext?: boolean;
}

interface PiSession {
  branch(id: string): void;
  buildSessionProjection(): { entries: Array<{ sourceEntry: { id: string }; messages: PiMessage[] }> };
}

interface Pi {
  SessionManager: { open(file: string): PiSession };
}

export default async function bench(): Promise<BenchTable> {
  const folder = mkdtempSync(join(tmpdir(), "bonsai-pi-projection-"));
  try {
    const pi = await importFromPi<Pi>(folder, "core/session-manager.js");
    const programs = fc.sample(program, { seed: SEED, numRuns: TREES });
    const counts = { trees: 0, places: 0, agreeing: 0 };
    const kinds = new Map<string, number>();
    const written = new Map<string, number>();
    for (const [at, steps] of programs.entries()) {
      const file = join(folder, `${at}.jsonl`);
      await write(file, steps);
      const found = disagreements(file, pi, written);
      counts.places += found.places;
      counts.agreeing += found.places - found.kinds.length;
      if (found.kinds.length === 0) counts.trees += 1;
      for (const kind of found.kinds) kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
    }
    return {
      title: `What pi ${piVersion} sees of our sessions`,
      columns: ["compared", "agree", "of"],
      rows: [
        ["whole sessions, at each of their entries", `${counts.trees}`, `${TREES}`],
        ["entries, as the leaf", `${counts.agreeing}`, `${counts.places}`],
        ...[...kinds].map(([kind, count]) => [`differs: ${kind}`, "", `${count}`]),
      ],
      notes: [`Entries written: ${[...written].map(([kind, count]) => `${kind} ${count}`).join(", ")}.`],
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

type Step = (session: Session) => Promise<void> | void;

const DEEDS: Record<string, (pick: number) => Step> = {
  compact: (pick) => (session) => compact(session, pick),
  undo: () => (session) => {
    const { compaction } = session.projection();
    if (compaction !== undefined) session.undoCompaction(compaction.id);
  },
  redo: () => (session) => {
    const change = session.path().findLast((entry) => compactionChange(entry)?.isUndone);
    if (change !== undefined) session.redoCompaction(compactionChange(change)!.compactionId);
  },
  pin: (pick) => (session) => {
    session.append({ type: "custom_message", ...pinMessage(session, `Keep rule ${pick % 3}.`) });
  },
  unpin: (pick) => (session) => {
    const pinned = pinnedTexts(session);
    const text = pinned[pick % Math.max(1, pinned.length)];
    if (text !== undefined) session.append({ type: "custom_message", ...unpinMessage(text) });
  },
  merge: (pick) => async (session) => {
    const path = new Set(session.path().map(({ id }) => id));
    const others = offered(session).filter(({ id }) => !path.has(id));
    const branch = others[pick % Math.max(1, others.length)];
    if (branch !== undefined) await mergeBranch({ session, branchId: branch.id, settings });
  },
  navigate: (pick) => async (session) => {
    const entries = offered(session);
    const { id: targetId } = entries[pick % entries.length]!;
    await navigateTree({ session, targetId, settings, summarise: pick % 2 === 0, label: `place ${pick}` });
  },
};

const settings = compactionSettings({ keepRecentTokens: 60, confirm: "always" }, { estimator: "chars4" });

const program: fc.Arbitrary<Step[]> = fc
  .array(
    fc.oneof(
      treeArbitrary({ own: true, maxSteps: 5 }).map(
        (notation): Step =>
          (session) =>
            void history(notation, session),
      ),
      fc.tuple(fc.constantFrom(...Object.keys(DEEDS)), fc.nat(99)).map(([deed, pick]) => DEEDS[deed]!(pick)),
    ),
    { minLength: 3, maxLength: 14 },
  )
  .map((steps) => [(session: Session) => void history("U A", session), ...steps]);

async function write(file: string, steps: readonly Step[]): Promise<void> {
  const session = createSession({ cwd: "/project", file });
  for (const step of steps) await step(session);
  session.close();
}

function offered(session: Session): Entry[] {
  return session
    .entries()
    .filter((entry) => !(entry.type === "custom" && entry.customType === customTypes.companion));
}

/** Compacts by the digest, by an extension, with an edited summary, or again, as the pick says. */
async function compact(session: Session, pick: number): Promise<void> {
  const lifecycle = new Lifecycle<CompactionEvents>({ rules: compactionEventRules });
  if (pick % 4 === 1)
    lifecycle.on("session_before_compact", ({ preparation: { firstKeptEntryId, tokensBefore } }) => ({
      compaction: { summary: "An extension's summary.", firstKeptEntryId, tokensBefore },
    }));
  let isEdited = pick % 4 !== 2;
  await runCompaction({
    session,
    settings,
    lifecycle,
    replacesLatest: pick % 5 === 0,
    review: async ({ prose = "" }) => {
      if (isEdited) return { action: "apply" };
      isEdited = true;
      return { action: "edit", prose: `${prose}\n\nThe user's own line.` };
    },
  });
}

/** Counts the written entries, and describes the difference at each entry where pi sees something else. */
function disagreements(
  file: string,
  pi: Pi,
  written: Map<string, number>,
): { places: number; kinds: string[] } {
  const session = openSession(file);
  const theirs = pi.SessionManager.open(file);
  const kinds: string[] = [];
  // First the view that pi opens: at the end of the file.
  const differs = (ours: string[]) => difference(ours, piView(theirs));
  const atEnd = differs(ownView(session, session.leafId));
  if (atEnd !== undefined) kinds.push(`at the end, ${atEnd}`);
  const entries = offered(session);
  for (const entry of session.entries()) {
    const kind = entry.type === "custom" || entry.type === "custom_message" ? entry.customType : entry.type;
    written.set(kind, (written.get(kind) ?? 0) + 1);
  }
  for (const { id } of entries) {
    theirs.branch(id);
    const kind = differs(ownView(session, id));
    if (kind !== undefined) kinds.push(kind);
  }
  session.close();
  return { places: entries.length + 1, kinds };
}

function ownView(session: Session, leafId: string | null): string[] {
  return session
    .projection(leafId)
    .items.map(({ entryId, message }) => shown(entryId, message as unknown as PiMessage));
}

function piView(session: PiSession): string[] {
  const { entries } = session.buildSessionProjection();
  return entries.flatMap(({ sourceEntry, messages }) =>
    messages
      .filter(({ role, excludeFromContext }) => role !== "system" && excludeFromContext !== true)
      .map((message) => shown(sourceEntry.id, message)),
  );
}

function shown(entryId: string, { role, content, summary, command }: PiMessage): string {
  if (role === "compactionSummary") return `${role}: ${summary}`;
  const text = summary ?? command ?? contentText(content as string);
  return `${role} ${entryId}: ${text} ${JSON.stringify(Array.isArray(content) ? content : [])}`;
}

function difference(ours: readonly string[], theirs: readonly string[]): string | undefined {
  const at = theirs.findIndex((line, place) => line !== ours[place]);
  if (at < 0 && ours.length === theirs.length) return undefined;
  const kindOf = (line: string | undefined) => line?.split(/[ :]/)[0] ?? "nothing";
  const place = at < 0 ? theirs.length : at;
  return `pi shows ${kindOf(theirs[place])} where we show ${kindOf(ours[place])}`;
}
