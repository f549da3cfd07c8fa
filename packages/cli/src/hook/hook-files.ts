import { createHash } from "node:crypto";
import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import type { GapRecord, GapText } from "@bonsai-agent/compaction/host";
import { SecretFilter } from "@bonsai-agent/messages";
import { writeWholeFile } from "@bonsai-agent/models/host";
import { hookLogFile } from "../call/launcher.ts";

/** Agents that call the hook. */
export const HOOK_AGENTS = ["claude-code", "codex"] as const;
export type HookAgent = (typeof HOOK_AGENTS)[number];

/** The compaction that the hook serves. */
export interface ServedCompaction {
  /** When PreCompact ran. */
  startedMs?: number;
  /** The time in the transcript, if it has the compaction. */
  recordedAt?: string;
  summary?: string;
  /** The added text; empty if nothing was lost. */
  added?: string;
  /** True if the added text leaves out the facts of the summary. */
  usedSummary?: boolean;
  /** True after PostCompact. */
  isPosted?: boolean;
}

/** The memory of one session between two calls of the hook. */
export interface HookState {
  compaction?: ServedCompaction;
  /** The offset of the latest span in the transcript, and the records before and after it. */
  span?: { start: number; before: GapRecord | undefined; after: GapRecord };
}

/** Increases with each change of the state. A state of another version counts as empty. */
const STATE_VERSION = 2;
/** Files of sessions without a compaction in this time are removed. */
const MAX_STATE_AGE_MS = 30 * 86_400_000;

/** The state file of one session, mode 0600. */
export class StateFile {
  readonly #folder: string;
  readonly #path: string;

  constructor(home: string, agent: HookAgent, sessionId: string) {
    const name = createHash("sha256").update(`${agent}\n${sessionId}`).digest("hex").slice(0, 32);
    this.#folder = join(home, "hook");
    this.#path = join(this.#folder, `${name}.json`);
  }

  /** A missing or damaged file is an empty state. */
  read(): HookState {
    try {
      const { version, ...state } = JSON.parse(readFileSync(this.#path, "utf8"));
      return version === STATE_VERSION ? state : {};
    } catch {
      return {};
    }
  }

  write(state: HookState): void {
    writeWholeFile(this.#path, JSON.stringify({ version: STATE_VERSION, ...withoutSecrets(state) }));
  }

  removeOld(nowMs: number): void {
    for (const name of readdirSync(this.#folder)) {
      const path = join(this.#folder, name);
      if (nowMs - statSync(path).mtimeMs > MAX_STATE_AGE_MS) rmSync(path, { force: true });
    }
  }
}

/** The earlier record was read from this file, so it has no secrets. The filter reads the terms as one text, for speed. */
function withoutSecrets({ compaction, span }: HookState): HookState {
  const secrets = new SecretFilter();
  const state = { ...(compaction && { compaction: secrets.value(compaction) }) };
  if (span === undefined) return state;
  const { terms, ...record } = span.after;
  const lines = secrets.text(terms.map(({ term }) => term).join("\n")).split("\n");
  const isSame = lines.length === terms.length;
  const known = isSame ? terms.filter(({ term }, at) => term === lines[at]) : [];
  return { ...state, span: { ...span, after: { ...secrets.value(record), terms: known } } };
}

/** One line of the log. */
export interface HookRun {
  /** ISO 8601. */
  at: string;
  agent?: string;
  event?: string;
  sessionId?: string;
  durationMs?: number;
  /** Tokens and facts of the added text. */
  added?: Pick<GapText, "tokens" | "counts">;
  error?: string;
}

const MAX_LOG_BYTES = 256 * 1024;

/** Appends a line; a log above 256 KB keeps its newer half. */
export function logRun(home: string, run: HookRun): void {
  mkdirSync(join(home, "logs"), { recursive: true, mode: 0o700 });
  const path = hookLogFile(home);
  appendFileSync(path, `${JSON.stringify(run)}\n`, { mode: 0o600 });
  if (statSync(path).size <= MAX_LOG_BYTES) return;
  const text = readFileSync(path, "utf8").slice(-MAX_LOG_BYTES / 2);
  writeFileSync(path, text.slice(text.indexOf("\n") + 1), { mode: 0o600 });
}

/** The logged runs, oldest first. Skips damaged lines. */
export function loggedRuns(home: string): HookRun[] {
  try {
    const lines = readFileSync(hookLogFile(home), "utf8").trimEnd().split("\n");
    return lines.flatMap((line) => {
      try {
        return [JSON.parse(line) as HookRun];
      } catch {
        return [];
      }
    });
  } catch {
    return [];
  }
}
