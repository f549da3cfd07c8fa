import { ExitCode } from "../exit-code.ts";
import type { AgentCall } from "../invocation.ts";
import { interruptibleCall } from "../modes/interruptible-call.ts";
import { resumeCommand } from "../resume-command.ts";
import { span } from "../views/line.ts";
import type { AgentHost } from "../work/agent-host.ts";
import { openWorkshop } from "../work/workshop.ts";
import { ChatView } from "./chat/chat-view.ts";
import { followCompactions } from "./compaction/follow-compactions.ts";
import type { InteractiveWork } from "./interactive-work.ts";
import { panelUi } from "./panels/panel-ui.ts";
import { PromptEditor } from "./prompt/prompt-editor.ts";
import { Screen } from "./screen.ts";
import { followSessions } from "./session/follow-sessions.ts";
import { Interrupting } from "./session/interrupting.ts";
import { noticeText } from "./session/notice-text.ts";
import { openHost } from "./session/open-host.ts";
import { Quitting } from "./session/quitting.ts";
import { Submitting } from "./session/submitting.ts";
import { Footer } from "./status/footer.ts";
import { ProcessTerminal, type Terminal } from "./terminal/tui.ts";
import { makeTheme } from "./theme/make-theme.ts";

/** The screen that one lives in: until the user quits. @param terminal for tests; default the process's own */
export function runInteractive(
  call: AgentCall,
  terminal: Terminal = new ProcessTerminal(),
): Promise<ExitCode> {
  return interruptibleCall(call, async (signal) => {
    const room = makeRoom(call, terminal, signal);
    const { screen, quitting } = room;
    screen.start(room.editor);
    const release = quitting.guard(screen);
    try {
      await work(room);
    } catch (error) {
      // Whoever quits while the session is being opened has not failed.
      if (!quitting.signal.aborted || error !== quitting.signal.reason) throw error;
    } finally {
      release();
      screen.stop();
    }
    tellHowToGoOn(room);
    return signal.aborted ? ExitCode.cancelled : ExitCode.done;
  });
}

type Room = ReturnType<typeof makeRoom>;

/** What stands before there is a session: the first frame shows it. */
function makeRoom(call: AgentCall, terminal: Terminal, signal: AbortSignal) {
  const theme = makeTheme(call.io.env.NO_COLOR ? "none" : "dark");
  const screen = new Screen({ terminal, theme });
  const chat = new ChatView(screen);
  const tell: InteractiveWork["tell"] = (notice) => chat.line(noticeText(notice, theme));
  const ui = panelUi({ screen, tell });
  const editor = new PromptEditor(screen);
  const quitting = new Quitting(signal);
  const submitting = new Submitting({ editor, tell });
  const interrupting = new Interrupting({ screen, editor, quitting, submitting });
  editor.onSubmit = (text) => submitting.submit(text);
  screen.tui.addInputListener((data) => interrupting.hear(data));
  let host: AgentHost | undefined;
  return {
    ...{ call, theme, screen, chat, tell, ui, editor, quitting, submitting, interrupting },
    host: () => host,
    enter(opened: AgentHost) {
      host = opened;
    },
  };
}

/** Opens the session, and works in it until the user quits. */
async function work(room: Room): Promise<void> {
  const { call, tell, ui, chat, quitting } = room;
  const workshop = await openWorkshop(
    { ...call, options: { ...call.options, mode: "tui" } },
    { tell, ui, signal: quitting.signal, listen: (lifecycle) => chat.listen(lifecycle) },
  );
  try {
    const host = await openHost(workshop);
    room.enter(host);
    try {
      await live(room, host);
    } finally {
      await host.close();
    }
  } finally {
    workshop.close();
  }
}

async function live(room: Room, host: AgentHost): Promise<void> {
  const { screen, theme, chat, editor, ui, tell, quitting, submitting, interrupting } = room;
  const work: InteractiveWork = {
    ...{ host, screen, theme, chat, editor, ui, tell },
    submit: (text, behavior) => submitting.submit(text, { behavior }),
    quit: () => quitting.quit(),
    interruptible: (task) => interrupting.interruptible(task),
  };
  furnish(work);
  followSessions(work);
  followCompactions(work, host.workshop.lifecycle);
  host.workshop.seat.ending.addEventListener("abort", () => quitting.quit(), { once: true });
  chat.rebuild(host.agent.session);
  screen.redraw();
  await host.start();
  interrupting.begin(work);
  const { words } = host.workshop.call;
  await submitting.begin(work, words);
  await quitting.asked;
  screen.leaveAll();
  await host.stop();
}

/** What stands around the chat; each room brings its own. */
function furnish({ host, screen, theme }: InteractiveWork): void {
  screen.footer.addChild(new Footer(() => host.agent.state, theme));
}

function tellHowToGoOn({ call, host }: Room): void {
  const session = host()?.agent.session;
  if (session?.file === undefined || session.leafId === null) return;
  call.output.notice([
    "Go on with ",
    span(resumeCommand({ id: session.id, file: session.file }, call.io), "cyan"),
  ]);
}
