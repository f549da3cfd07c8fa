import { type AgentCall, ExitCode } from "../call/invocation.ts";
import { showFirstFrame } from "./session/first-frame.ts";
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
      const firstFrame = showFirstFrame(call, { terminal, signal });
      const { screen, editor, quitSignal } = firstFrame;
      // Restores the terminal if the process ends with an error.
      const restore = () => screen.stop();
      process.on("exit", restore);
      let printHowToContinue = () => {};
      try {
        // Loaded after the first frame: it takes longer than everything before.
        const [{ runSession }, { killRunningCommands }] = await Promise.all([
          import("./session/run-session.ts"),
          import("@bonsai-agent/agent/host"),
        ]);
        atOnce = () => {
          screen.stop();
          killRunningCommands();
        };
        printHowToContinue = await runSession(firstFrame);
      } catch (error) {
        // Quitting while the session is opened is no failure.
        if (!quitSignal.aborted || error !== quitSignal.reason) throw error;
      } finally {
        // Without a session, only typed text stays on the screen.
        if (screen.chat.children.length === 0 && editor.isEmpty) screen.wipe();
        else screen.tui.renderNow();
        // Late answers of the terminal must not reach the shell.
        await terminal.drainInput(drainMs, 50);
        process.removeListener("exit", restore);
        screen.stop();
      }
      printHowToContinue();
      return signal.aborted ? ExitCode.cancelled : ExitCode.done;
    },
    () => atOnce(),
  );
}
