import type { AgentNotice } from "@bonsai-agent/agent";
import { ExitCode } from "../exit-code.ts";
import type { AgentCall } from "../invocation.ts";
import { interruptibleCall } from "../modes/interruptible-call.ts";
import { AgentHost } from "../work/agent-host.ts";
import { openWorkshop } from "../work/workshop.ts";
import { ChatView } from "./chat/chat-view.ts";
import type { InteractiveWork } from "./interactive-work.ts";
import { panelUi } from "./panels/panel-ui.ts";
import { PromptEditor } from "./prompt/prompt-editor.ts";
import { Screen } from "./screen.ts";
import { slashCommandOf } from "./slash/slash-commands.ts";
import { Footer } from "./status/footer.ts";
import { matchesKey, ProcessTerminal, type Terminal } from "./terminal/tui.ts";
import { makeTheme } from "./theme/make-theme.ts";

/** The screen that one lives in: until the user quits. @param terminal for tests; default the process's own */
export function runInteractive(
  call: AgentCall,
  terminal: Terminal = new ProcessTerminal(),
): Promise<ExitCode> {
  return interruptibleCall(call, async (signal) => {
    const theme = makeTheme(call.io.env.NO_COLOR ? "none" : "dark");
    const screen = new Screen({ terminal, theme });
    const chat = new ChatView(screen);
    const tell = ({ message }: Pick<AgentNotice, "level" | "message">) => chat.line(message);
    const ui = panelUi({ screen, tell });
    const editor = new PromptEditor(screen);
    const ended = Promise.withResolvers<void>();
    const quit = () => ended.resolve();
    signal.addEventListener("abort", quit, { once: true });
    screen.start(editor);
    try {
      const workshop = await openWorkshop(call, {
        tell,
        ui,
        signal,
        listen: (lifecycle) => chat.listen(lifecycle),
      });
      try {
        const host = await AgentHost.open(workshop);
        screen.footer.addChild(new Footer(() => host.agent.state, theme));
        const work: InteractiveWork = { host, screen, theme, chat, editor, ui, tell, quit, submit };
        function submit(text: string): void {
          const slash = slashCommandOf(text);
          if (slash !== undefined) void slash.command.run(slash.args, work);
          else void host.agent.prompt(text, { source: "interactive", behavior: "steer" });
        }
        editor.onSubmit = submit;
        screen.tui.addInputListener((data) => {
          if (!matchesKey(data, "ctrl+c")) return undefined;
          quit();
          return { consume: true };
        });
        chat.rebuild(host.agent.session);
        await host.start();
        screen.redraw();
        await ended.promise;
        await host.close();
      } finally {
        workshop.close();
      }
    } finally {
      screen.stop();
    }
    return ExitCode.done;
  });
}
