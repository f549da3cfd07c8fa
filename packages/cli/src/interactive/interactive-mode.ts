import { type AgentCall, ExitCode } from "../call/invocation.ts";
import { firstTheme, showFirstFrame } from "./session/first-frame.ts";
import { ProcessTerminal, type Terminal } from "./terminal/tui.ts";

const drainMs = 500;

/** Runs the interactive mode until the user quits. @param terminal for tests; default the process's own */
export function runInteractive(
  call: AgentCall,
  terminal: Terminal = new ProcessTerminal(),
): Promise<ExitCode> {
  let atOnce = () => {};
  return call.io.interruptible(
    async (signal) => {
      const theme = firstTheme(call);
      const first = theme instanceof Promise ? await theme : theme;
      const firstFrame = showFirstFrame(call, { terminal, signal, theme: first });
      const { screen, editor, quitting } = firstFrame;
      const release = quitting.guard(screen);
      let printHowToGoOn = () => {};
      try {
        // Behind the first frame: it takes longer than everything before.
        const [{ live }, { killRunningCommands }] = await Promise.all([
          import("./session/live.ts"),
          import("@bonsai-agent/agent/host"),
        ]);
        atOnce = () => {
          screen.stop();
          killRunningCommands();
        };
        printHowToGoOn = await live(firstFrame);
      } catch (error) {
        // Whoever quits while the session is being opened has not failed.
        if (!quitting.signal.aborted || error !== quitting.signal.reason) throw error;
      } finally {
        // Of what was never begun, only what was typed meanwhile is left.
        if (screen.chat.children.length === 0 && editor.isEmpty) screen.wipe();
        else screen.tui.renderNow();
        // What the terminal still answers is not for the shell.
        await terminal.drainInput(drainMs, 50);
        release();
        screen.stop();
      }
      printHowToGoOn();
      return signal.aborted ? ExitCode.cancelled : ExitCode.done;
    },
    () => atOnce(),
  );
}
