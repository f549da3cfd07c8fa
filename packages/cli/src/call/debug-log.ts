import { appendFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import type { AgentNotice, LifecycleEvents } from "@bonsai-agent/agent";
import type { ReloadReport } from "@bonsai-agent/extension/host";
import type { Lifecycle, PayloadOf } from "@bonsai-agent/lifecycle";

export interface DebugLog {
  listen(lifecycle: Lifecycle<LifecycleEvents>): void;
  notice(notice: AgentNotice): void;
  loaded(report: ReloadReport): void;
}

/**
 * Writes `<home>/logs/<date>.log`, mode 0600. Contains sizes and outcomes, but no conversation texts and no keys.
 * @param onFailure called at most once
 */
export function debugLog(home: string, now: () => number, onFailure: (error: Error) => void): DebugLog {
  const folder = join(home, "logs");
  let isBroken = false;
  const write = (text: string) => {
    if (isBroken) return;
    const time = new Date(now()).toISOString();
    const line = `${time} [${process.pid}] ${text.replaceAll(/\s+/g, " ")}\n`;
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      appendFileSync(join(folder, `${time.slice(0, 10)}.log`), line, { mode: 0o600 });
    } catch (error) {
      isBroken = true;
      onFailure(error as Error);
    }
  };
  return {
    notice: ({ level, code, message }) => write(`${level} ${code}: ${message}`),
    listen(lifecycle) {
      for (const [name, lineOf] of Object.entries(lines) as [
        keyof LifecycleEvents,
        (event: never) => string,
      ][])
        lifecycle.on(
          name,
          ((event: never) => write(lineOf(event))) as never,
          { source: "debug-log" } as never,
        );
    },
    loaded: ({ loaded, failed, elapsedMs }) => {
      for (const { path, origin, loadMs } of loaded)
        write(`extension loaded path=${path} origin=${origin} ms=${Math.round(loadMs)}`);
      for (const { path, error } of failed) write(`extension failed path=${path} code=${error.code}`);
      write(`extensions ready loaded=${loaded.length} failed=${failed.length} ms=${Math.round(elapsedMs)}`);
    },
  };
}

type Lines = { [Name in keyof LifecycleEvents]?: (event: PayloadOf<LifecycleEvents[Name]>) => string };

const lines: Lines = {
  session_start: ({ reason }) => `session started reason=${reason}`,
  session_shutdown: ({ reason }) => `session closed reason=${reason}`,
  session_mask: ({ entries, freedTokens, reason }) =>
    `history masked reclaimed_tokens=${freedTokens} results=${entries.length} reason=${reason}`,
  background_compaction: ({ state, detail }) => `background compaction state=${state} detail=${detail}`,
  auto_compaction_start: ({ reason }) => `compaction started reason=${reason}`,
  auto_compaction_end: ({ outcome, willRetry }) =>
    `compaction ended reason=${outcome.reason} status=${outcome.status} tokens_before=${outcome.tokensBefore} ` +
    `tokens_after=${outcome.tokensAfter} will_retry=${willRetry} detail=${outcome.detail}`,
  session_compact: ({ reason, compactionEntry }) =>
    `session compacted reason=${reason} entry=${compactionEntry.id}`,
  session_compact_failed: ({ reason, outcome }) =>
    `compaction failed reason=${reason} detail=${outcome.detail}`,
  session_compact_undo: ({ isUndone, compactionEntry }) =>
    `compaction ${isUndone ? "undone" : "redone"} entry=${compactionEntry.id}`,
  after_provider_response: ({ status }) => `provider answered status=${status}`,
  turn_end: ({ turnIndex, message, toolResults }) =>
    `turn ${turnIndex} ended model=${message.provider}/${message.model} stop=${message.stopReason} ` +
    `input=${message.usage.input} cache_read=${message.usage.cacheRead} output=${message.usage.output} tools=${toolResults.length}`,
  agent_end: ({ result: { status, error } }) =>
    `agent ended status=${status}${error === undefined ? "" : ` code=${error.code}`}`,
};
