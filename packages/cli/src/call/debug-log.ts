import { appendFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import type { AgentNotice, LifecycleEvents } from "@bonsai-agent/agent";
import type { ReloadReport } from "@bonsai-agent/extension/host";
import type { Lifecycle } from "@bonsai-agent/lifecycle";

export interface DebugLog {
  listen(lifecycle: Lifecycle<LifecycleEvents>): void;
  notice(notice: AgentNotice): void;
  loaded(report: ReloadReport): void;
}

interface DebugLogOptions {
  home: string;
  now: () => number;
  /** Called once if the log cannot be written. */
  onFailure: (error: Error) => void;
}

/** Writes `<home>/logs/<date>.log`, mode 0600: sizes and outcomes, no texts of the conversation, no keys. */
export function debugLog({ home, now, onFailure }: DebugLogOptions): DebugLog {
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
    listen: (lifecycle) => listen(lifecycle, write),
    loaded: ({ loaded, failed, elapsedMs }) => {
      for (const { path, origin, loadMs } of loaded)
        write(`extension loaded path=${path} origin=${origin} ms=${Math.round(loadMs)}`);
      for (const { path, error } of failed) write(`extension failed path=${path} code=${error.code}`);
      write(`extensions ready loaded=${loaded.length} failed=${failed.length} ms=${Math.round(elapsedMs)}`);
    },
  };
}

function listen(lifecycle: Lifecycle<LifecycleEvents>, write: (text: string) => void): void {
  const on: Lifecycle<LifecycleEvents>["on"] = (name, handler) =>
    lifecycle.on(name, handler, { source: "debug-log" } as never);
  on("session_start", ({ reason }) => write(`session started reason=${reason}`));
  on("session_shutdown", ({ reason }) => write(`session closed reason=${reason}`));
  on("session_mask", ({ entries, freedTokens, reason }) =>
    write(`history masked reclaimed_tokens=${freedTokens} results=${entries.length} reason=${reason}`),
  );
  on("background_compaction", ({ state, detail }) =>
    write(`background compaction state=${state} detail=${detail}`),
  );
  on("auto_compaction_start", ({ reason }) => write(`compaction started reason=${reason}`));
  on("auto_compaction_end", ({ outcome, willRetry }) =>
    write(
      `compaction ended reason=${outcome.reason} status=${outcome.status} tokens_before=${outcome.tokensBefore} ` +
        `tokens_after=${outcome.tokensAfter} will_retry=${willRetry} detail=${outcome.detail}`,
    ),
  );
  on("session_compact", ({ reason, compactionEntry }) =>
    write(`session compacted reason=${reason} entry=${compactionEntry.id}`),
  );
  on("session_compact_failed", ({ reason, outcome }) =>
    write(`compaction failed reason=${reason} detail=${outcome.detail}`),
  );
  on("session_compact_undo", ({ isUndone, compactionEntry }) =>
    write(`compaction ${isUndone ? "undone" : "redone"} entry=${compactionEntry.id}`),
  );
  on("after_provider_response", ({ status }) => write(`provider answered status=${status}`));
  on("turn_end", ({ turnIndex, message, toolResults }) =>
    write(
      `turn ${turnIndex} ended model=${message.provider}/${message.model} stop=${message.stopReason} ` +
        `input=${message.usage.input} cache_read=${message.usage.cacheRead} output=${message.usage.output} tools=${toolResults.length}`,
    ),
  );
  on("agent_end", ({ result }) =>
    write(
      `agent ended status=${result.status}${result.error === undefined ? "" : ` code=${result.error.code}`}`,
    ),
  );
}
