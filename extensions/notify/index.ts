import { closeSync, openSync, writeSync } from "node:fs";
import type { ExtensionAPI, ExtensionContext } from "@bonsai-agent/extension";
import { textHead } from "@bonsai-agent/extension";

const STYLES = ["auto", "bell", "osc9", "osc777", "off"];

/** Notifies the user when the agent has finished after a while, or when something failed. */
export default function notify(bonsai: ExtensionAPI): void {
  bonsai.registerFlag("notify", {
    type: "string",
    description: "How to notify: auto, bell, osc9, osc777 or off. Default: BONSAI_NOTIFY, else auto",
  });
  bonsai.registerFlag("notify-after", {
    type: "string",
    description:
      "Only notify after runs of at least this many seconds. Default: BONSAI_NOTIFY_AFTER, else 10",
  });
  bonsai.registerFlag("notify-command", {
    type: "string",
    description:
      "Run this command instead of using the terminal, with title and text as arguments. Default: BONSAI_NOTIFY_COMMAND",
  });
  const setting = (flag: string) =>
    String(bonsai.getFlag(flag) || process.env[`BONSAI_${flag.toUpperCase().replace("-", "_")}`] || "");
  let isTold = false;
  const notifyUser = async (ctx: ExtensionContext, text: string) => {
    const command = setting("notify-command");
    const why = command === "" ? onTerminal(ctx, setting("notify"), text) : await run(bonsai, command, text);
    if (why !== undefined && !isTold) ctx.ui.notify(`Could not send a notification: ${why}`, "warning");
    isTold ||= why !== undefined;
  };

  let startedAt = 0;
  bonsai.on("agent_start", () => {
    startedAt = performance.now();
  });
  bonsai.on("agent_end", async ({ result }, ctx) => {
    const seconds = (performance.now() - startedAt) / 1_000;
    const said = setting("notify-after");
    const least = said === "" || Number.isNaN(Number(said)) ? 10 : Number(said);
    if (result.status === "failed")
      await notifyUser(ctx, `The run failed: ${result.error?.message ?? "unknown reason"}`);
    else if (seconds < least) return;
    else if (result.status === "done") await notifyUser(ctx, `Finished after ${Math.round(seconds)} s`);
    else if (result.status === "paused") await notifyUser(ctx, "Paused. Send a prompt to continue.");
  });
  bonsai.on("session_compact_failed", async ({ aborted, errorMessage }, ctx) => {
    if (!aborted) await notifyUser(ctx, `Compaction failed: ${errorMessage ?? "unknown reason"}`);
  });
}

/** The user's command, with title and text as its last arguments. @returns why it did not work */
async function run(bonsai: ExtensionAPI, command: string, text: string): Promise<string | undefined> {
  const isWindows = process.platform === "win32";
  const [program, args] = isWindows ? [command, []] : ["/bin/sh", ["-c", `${command} "$@"`, "notify"]];
  const { code, killed, stderr } = await bonsai.exec(program, [...args, "Bonsai", clean(text)], {
    timeout: 10_000,
  });
  if (killed) return `${command} took longer than 10 s`;
  return code === 0
    ? undefined
    : `${command} failed with exit code ${code} ${textHead(stderr.trim(), 200)}`.trim();
}

/** Writes to the terminal, never to the output: other programs read that. */
function onTerminal({ mode }: ExtensionContext, style: string, text: string): string | undefined {
  if (style !== "" && !STYLES.includes(style))
    return `the notify setting is ${style}, but must be one of ${STYLES.join(", ")}`;
  if (style === "off" || mode === "rpc") return undefined;
  let terminal: number;
  try {
    terminal = openSync(process.env.BONSAI_NOTIFY_TERMINAL || "/dev/tty", "a");
  } catch {
    // There is no terminal.
    return undefined;
  }
  try {
    writeSync(
      terminal,
      sequence(style === "" || style === "auto" ? styleOf(process.env) : style, clean(text)),
    );
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    closeSync(terminal);
  }
  return undefined;
}

/** The protocol of a terminal that names itself in the environment. */
function styleOf({ TMUX, TERM = "", TERM_PROGRAM = "" }: NodeJS.ProcessEnv): string {
  if (TMUX) return "bell";
  if (/^(?:iTerm\.app|WezTerm|ghostty)$/.test(TERM_PROGRAM) || TERM === "xterm-ghostty") return "osc9";
  return /^(?:rxvt|foot)/.test(TERM) ? "osc777" : "bell";
}

function sequence(style: string, text: string): string {
  if (style === "osc9") return `\x1b]9;Bonsai: ${text}\x07`;
  return style === "osc777" ? `\x1b]777;notify;Bonsai;${text.replaceAll(";", ",")}\x07` : "\x07";
}

/** One short line without control characters. */
function clean(text: string): string {
  return textHead(text.replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, " ").trim(), 200);
}
