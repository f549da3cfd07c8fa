import { appendFileSync, closeSync, constants, mkdirSync, openSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { type ExtensionAPI, type ExtensionContext, lifecycleEventNames } from "@bonsai-agent/extension";
import { redacted } from "./redacted.ts";

/** One JSON line in a file for everything that the agent does. */
export default function auditLog(bonsai: ExtensionAPI): void {
  bonsai.registerFlag("audit-log", {
    type: "string",
    description: "Path of the audit log. Default: BONSAI_AUDIT_LOG, else one file per day in ~/.bonsai/audit",
  });
  const log = new LogFile(() => bonsai.getFlag("audit-log") || process.env.BONSAI_AUDIT_LOG);
  for (const name of lifecycleEventNames)
    bonsai.on(name, (event: object, ctx: ExtensionContext): undefined => {
      log.write(ctx, name, () => redacted(recorded(name, event as Record<string, unknown>)));
    });
}

/** Writes the file, and reports its failures once. */
class LogFile {
  readonly #chosen: () => unknown;
  #missed = 0;
  #isTold = false;

  constructor(chosen: () => unknown) {
    this.#chosen = chosen;
  }

  /** Never throws: a log that cannot be written breaks no run. */
  write(ctx: ExtensionContext, event: string, payload: () => unknown): void {
    const file = this.#file(ctx);
    const head = { time: new Date().toISOString(), session: sessionOf(ctx) };
    try {
      const line = JSON.stringify({ ...head, event, payload: payload() });
      const gap = JSON.stringify({ ...head, event: "gap", payload: { missed: this.#missed } });
      // Ends a line that a full disk cut off.
      append(file, this.#missed === 0 ? `${line}\n` : `\n${gap}\n${line}\n`);
      this.#missed = 0;
    } catch (error) {
      this.#missed += 1;
      if (this.#isTold) return;
      this.#isTold = true;
      const why = error instanceof Error ? error.message : String(error);
      ctx.ui.notify(`Cannot write to the audit log ${file}. Some events are missing: ${why}`, "warning");
    }
  }

  #file({ cwd }: ExtensionContext): string {
    const chosen = this.#chosen();
    if (typeof chosen === "string") return resolve(cwd, chosen.replace(/^~(?=\/)/, homedir()));
    const home = process.env.BONSAI_HOME || join(homedir(), ".bonsai");
    return join(home, "audit", `${new Date().toISOString().slice(0, 10)}.jsonl`);
  }
}

/** Opens the file without blocking: a pipe may have no reader. */
const FLAGS = constants.O_APPEND | constants.O_CREAT | constants.O_WRONLY | (constants.O_NONBLOCK ?? 0);

function append(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const descriptor = openSync(file, FLAGS, 0o600);
  try {
    appendFileSync(descriptor, text);
  } finally {
    closeSync(descriptor);
  }
}

function sessionOf({ sessionManager }: ExtensionContext): string | null {
  try {
    return sessionManager.getSessionId();
  } catch {
    // There is none yet.
    return null;
  }
}

/** Fields that are logged as their size: they repeat the session with each request, or a message in pieces. */
function recorded(name: string, payload: Record<string, unknown>): object {
  if (name === "session_before_compact") {
    // Field by field: reading the path is slow, and the log does not need it.
    const { customInstructions, reason, willRetry, preparation } = payload;
    return { customInstructions, reason, willRetry, preparation: counted(preparation as object) };
  }
  const { type: _type, current: _current, signal: _signal, ...event } = payload;
  switch (name) {
    case "message_update":
      return { update: pieceOf(event.assistantMessageEvent as Record<string, unknown>) };
    case "tool_execution_update":
      return { ...event, args: undefined, partialResult: sizeOf(event.partialResult) };
    case "context":
      return { messageCount: (event.messages as readonly unknown[]).length };
    case "before_provider_request":
      return sizeOf(event.payload);
    case "session_before_tree":
      return { ...event, preparation: counted(event.preparation as object) };
    case "agent_end":
      return { ...event, messages: undefined, messageCount: (event.messages as readonly unknown[]).length };
    default:
      return event;
  }
}

function pieceOf({ type, contentIndex, delta }: Record<string, unknown>): object {
  return { type, contentIndex, ...(typeof delta === "string" ? { characters: delta.length } : {}) };
}

function sizeOf(value: unknown): object {
  return { characters: JSON.stringify(value)?.length ?? 0 };
}

/** Lists by their lengths. */
function counted(preparation: object): object {
  return Object.fromEntries(
    Object.entries(preparation).map(([key, value]) => [
      key,
      Array.isArray(value) ? { count: value.length } : value,
    ]),
  );
}
