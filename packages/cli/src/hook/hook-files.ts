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
import { isRecord, SecretFilter } from "@bonsai-agent/messages";
import { writeWholeFile } from "@bonsai-agent/models/host";
import type { ReadPlace } from "@bonsai-agent/transcripts";
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
  span?: KnownSpan;
  /** The end of the transcript that prompts have read ahead. */
  readAheadTo?: number;
}

/** The latest span of a transcript. */
export interface KnownSpan {
  /** The offset of its first line. */
  start: number;
  /** The record of the spans before it. */
  before: GapRecord | undefined;
  /** Its older parts, which later calls do not read again, and the record after them. */
  parts: { place: ReadPlace; record: GapRecord } | undefined;
  /** The record after all that was read of it. */
  after: GapRecord;
}

/** Increases with each change of the state. A state of another version counts as empty. */
const STATE_VERSION = 4;
/** Files of sessions without a compaction in this time are removed. */
const MAX_STATE_AGE_MS = 30 * 86_400_000;

/** The state file of one session, mode 0600. */
export class StateFile {
  readonly #folder: string;
  readonly #path: string;

  constructor(home: string, agent: HookAgent, sessionId: string) {
    const name = checksum(`${agent}\n${sessionId}`).slice(0, 32);
    this.#folder = join(home, "hook");
    this.#path = join(this.#folder, `${name}.json`);
  }

  /** A missing or damaged file is an empty state. */
  read(): HookState {
    try {
      const [sum, text = ""] = readFileSync(this.#path, "utf8").split("\n", 2);
      const { version, ...state } = JSON.parse(text);
      return sum === checksum(text) && version === STATE_VERSION ? state : {};
    } catch {
      return {};
    }
  }

  write(state: HookState): void {
    const text = JSON.stringify({ version: STATE_VERSION, ...withoutSecrets(state) });
    writeWholeFile(this.#path, `${checksum(text)}\n${text}`);
  }

  removeOld(nowMs: number): void {
    for (const name of readdirSync(this.#folder)) {
      const path = join(this.#folder, name);
      // A call for another session can remove the file first.
      const stats = statSync(path, { throwIfNoEntry: false });
      if (stats?.isFile() && nowMs - stats.mtimeMs > MAX_STATE_AGE_MS) rmSync(path, { force: true });
    }
  }
}

function checksum(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** The records of earlier spans and parts have no secrets. */
function withoutSecrets({ compaction, span, ...others }: HookState): HookState {
  return {
    ...others,
    ...(compaction && { compaction: new SecretFilter().value(compaction) }),
    ...(span && { span: { ...span, after: recordWithoutSecrets(span.after) } }),
  };
}

/** The filter reads the terms as one text, for speed. */
export function recordWithoutSecrets({ terms, ...others }: GapRecord): GapRecord {
  const secrets = new SecretFilter();
  const record = secrets.value(others);
  const lines = secrets.text(terms.map(({ term }) => term).join("\n")).split("\n");
  const isSame = lines.length === terms.length;
  return { ...record, terms: isSame ? terms.filter(({ term }, at) => term === lines[at]) : [] };
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
  /** Bytes of the transcript that were too many to read in one call. */
  skippedBytes?: number;
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
        const run: unknown = JSON.parse(line);
        return isRecord(run) ? [run as unknown as HookRun] : [];
      } catch {
        return [];
      }
    });
  } catch {
    return [];
  }
}
