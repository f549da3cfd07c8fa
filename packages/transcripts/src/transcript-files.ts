import { globSync, type Stats, statSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

/** Agents whose transcripts are found on this machine. */
export type TranscriptAgent = "claude-code" | "codex" | "opencode" | "gemini" | "qwen" | "pi";

/** A file with one session, or OpenCode's database with several. */
export interface TranscriptFile {
  agent: TranscriptAgent;
  path: string;
  bytes: number;
  modifiedMs: number;
}

type Env = Readonly<Record<string, string | undefined>>;

interface Place {
  agent: TranscriptAgent;
  folder: (env: Env, home: string) => string;
  patterns: readonly string[];
}

const PLACES: readonly Place[] = [
  {
    agent: "claude-code",
    folder: (env, home) => env.CLAUDE_CONFIG_DIR || join(home, ".claude"),
    patterns: ["projects/*/*.jsonl"],
  },
  {
    agent: "codex",
    folder: (env, home) => env.CODEX_HOME || join(home, ".codex"),
    patterns: ["sessions/*/*/*/rollout-*.jsonl", "archived_sessions/rollout-*.jsonl"],
  },
  {
    agent: "opencode",
    folder: (env, home) => join(env.XDG_DATA_HOME || join(home, ".local/share"), "opencode"),
    patterns: ["opencode.db", "storage/session/*/ses*.json"],
  },
  {
    agent: "gemini",
    folder: (_, home) => join(home, ".gemini"),
    patterns: ["tmp/*/chats/session-*.jsonl", "tmp/*/chats/session-*.json"],
  },
  {
    agent: "qwen",
    folder: (_, home) => join(home, ".qwen"),
    patterns: ["projects/*/chats/*.jsonl", "tmp/*/chats/*.jsonl"],
  },
  {
    agent: "pi",
    folder: (env, home) => env.PI_CODING_AGENT_DIR || join(home, ".pi/agent"),
    patterns: ["sessions/*/*.jsonl"],
  },
];

/** Finds the transcripts of other agents in their usual places, latest change first. Only lists files. */
export function findTranscripts(env: Env): TranscriptFile[] {
  const home = env.HOME || env.USERPROFILE || homedir();
  const found = PLACES.flatMap(({ agent, folder, patterns }) => {
    const root = folder(env, home);
    // A sub-agent is a part of its session.
    const names = globSync([...patterns], { cwd: root }).filter((name) => !/[\\/]agent-[^\\/]*$/.test(name));
    return names.flatMap((name) => {
      const path = join(root, name);
      const stats = fileStats(path);
      // A database with a write-ahead log gets new rows there first.
      const log = path.endsWith(".db") ? fileStats(`${path}-wal`) : undefined;
      if (stats === undefined) return [];
      const modifiedMs = Math.max(stats.mtimeMs, log?.mtimeMs ?? 0);
      return [{ agent, path, bytes: stats.size + (log?.size ?? 0), modifiedMs }];
    });
  });
  return found.sort((a, b) => b.modifiedMs - a.modifiedMs || (a.path < b.path ? -1 : 1));
}

/** Undefined for anything but a file: reading from a pipe would wait for its writer. */
function fileStats(path: string): Stats | undefined {
  try {
    const stats = statSync(path);
    return stats.isFile() ? stats : undefined;
  } catch {
    // Deleted after the listing, or a dangling link.
    return undefined;
  }
}
