import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { type ReadonlySessionManager, sessionManagerOf } from "@bonsai-agent/extension/host";
import {
  type AssistantMessage,
  BonsaiError,
  chars4Estimator,
  contextTokens,
  type Message,
  type Usage,
} from "@bonsai-agent/messages";
import {
  type Entry,
  listSessions,
  MemoryStore,
  openSession,
  project,
  type SessionSummary,
} from "@bonsai-agent/session";

/** pi's sessions on disk, for reading; those who write go through the session that is worked in. */
export const SessionManager = {
  /** As it is in this moment; what is appended later is not seen. @throws what `openSession` throws */
  open(path: string): ReadonlySessionManager {
    const file = resolve(path);
    const session = openSession({ store: new MemoryStore(readFileSync(file), "It was opened for reading.") });
    return {
      ...sessionManagerOf(() => session),
      getSessionFile: () => file,
      getSessionDir: () => dirname(file),
    };
  },
  /** The sessions of a working folder, latest first. */
  list: async (cwd: string) => listSessions({ cwd }).sessions.map(sessionInfo),
  listAll: async () => listSessions().sessions.map(sessionInfo),
  create: () => refuse("create"),
  inMemory: () => refuse("inMemory"),
  continueRecent: () => refuse("continueRecent"),
};

/** What a model sees at an entry; default the last one. */
export function buildSessionContext(
  entries: readonly Entry[],
  leafId: string | null | undefined = entries.at(-1)?.id,
): { messages: Message[] } {
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  const path: Entry[] = [];
  for (let at = byId.get(leafId ?? ""); at !== undefined; at = byId.get(at.parentId ?? "")) {
    path.unshift(at);
    // An entry that is met again is an ancestor of itself.
    byId.delete(at.id);
  }
  return { messages: project(path).items.map(({ message }) => message) };
}

/** What pi lists of a session. */
function sessionInfo({ file, id, cwd, name, createdMs, lastActivityMs, lines, firstWords }: SessionSummary) {
  return {
    path: file,
    id,
    cwd,
    ...(name === undefined ? {} : { name }),
    created: new Date(createdMs),
    modified: new Date(lastActivityMs),
    // Beside messages, what else a session holds.
    messageCount: lines,
    firstMessage: firstWords ?? "",
  };
}

function refuse(name: string): never {
  throw new BonsaiError({
    code: "pi_method_missing",
    message: `SessionManager.${name} of pi does not exist in Bonsai.`,
    hint: "Use ctx.newSession, ctx.switchSession and ctx.fork in a command; SessionManager.open reads a file.",
  });
}

/** Settings as pi has them by default. */
export const DEFAULT_COMPACTION_SETTINGS = { enabled: true, reserveTokens: 16_384, keepRecentTokens: 20_000 };

/** The tokens that the context held when an answer was done. */
export function calculateContextTokens(usage: Usage): number {
  return contextTokens(usage);
}

/** A quarter of the characters, rounded up. */
export function estimateTokens(message: Message): number {
  return chars4Estimator.message(message);
}

/** True where what is kept free for the answer is touched. */
export function shouldCompact(
  tokens: number,
  contextWindow: number,
  { enabled, reserveTokens }: { enabled: boolean; reserveTokens: number },
): boolean {
  return enabled && tokens > contextWindow - reserveTokens;
}

/** The usage of the last answer that neither failed nor was stopped. */
export function getLastAssistantUsage(entries: readonly Entry[]): Usage | undefined {
  const isGood = ({ stopReason, usage }: AssistantMessage) =>
    stopReason !== "aborted" && stopReason !== "error" && usage !== undefined;
  const messages = entries.flatMap((entry) => (entry.type === "message" ? [entry.message] : []));
  const last = messages.findLast(
    (message) => message.role === "assistant" && isGood(message as AssistantMessage),
  );
  return (last as AssistantMessage | undefined)?.usage;
}

export function getLatestCompactionEntry(entries: readonly Entry[]): Entry | null {
  return entries.findLast(({ type }) => type === "compaction") ?? null;
}

/** An id that sorts by time (RFC 9562, version 7). `timestampMs`: milliseconds since the epoch; default now. */
export function uuidv7(timestampMs = Date.now()): string {
  const bytes = randomBytes(16);
  bytes.writeUIntBE(timestampMs, 0, 6);
  bytes[6] = 0x70 | (bytes[6]! & 0x0f);
  bytes[8] = 0x80 | (bytes[8]! & 0x3f);
  const hex = bytes.toString("hex");
  return [0, 8, 12, 16, 20].map((start, at, starts) => hex.slice(start, starts[at + 1])).join("-");
}
