import { bonsaiHome } from "@bonsai-agent/session";
import { ExitCode } from "../exit-code.ts";
import type { AgentCall } from "../invocation.ts";
import { interruptibleCall } from "../modes/interruptible-call.ts";
import { resumeCommand } from "../resume-command.ts";
import { shownPath } from "../shown-path.ts";
import { span } from "../views/line.ts";
import type { AgentHost } from "../work/agent-host.ts";
import { openWorkshop } from "../work/workshop.ts";
import { ChatView } from "./chat/chat-view.ts";
import { followCompactions } from "./compaction/follow-compactions.ts";
import type { InteractiveWork } from "./interactive-work.ts";
import { bindKeys } from "./keys/keybindings-file.ts";
import { panelUi } from "./panels/panel-ui.ts";
import { attachPrompt } from "./prompt/attach-prompt.ts";
import { PromptEditor } from "./prompt/prompt-editor.ts";
import { Screen } from "./screen.ts";
import { followSessions } from "./session/follow-sessions.ts";
import { Interrupting } from "./session/interrupting.ts";

import { openHost } from "./session/open-host.ts";
import { Quitting } from "./session/quitting.ts";
import { shownNotice } from "./session/shown-notice.ts";
import { Submitting } from "./session/submitting.ts";
import { Status } from "./status/status.ts";
import { ProcessTerminal, type Terminal } from "./terminal/tui.ts";
import { schemeOfEnvironment } from "./theme/color-scheme.ts";
import { followBackground } from "./theme/follow-background.ts";
import { makeTheme } from "./theme/make-theme.ts";

/** The screen that one lives in: until the user quits. @param terminal for tests; default the process's own */
export function runInteractive(
  call: AgentCall,
  terminal: Terminal = new ProcessTerminal(),
): Promise<ExitCode> {
  return interruptibleCall(call, async (signal) => {
    const room = makeRoom(call, terminal, signal);
    const { screen, quitting } = room;
    const faults = bindKeys(bonsaiHome({ ...call.io.env }));
    screen.start(room.editor);
    void followBackground(screen);
    for (const message of faults) room.tell({ level: "warning", message });
    const release = quitting.guard(screen);
    try {
      await work(room);
    } catch (error) {
      // Whoever quits while the session is being opened has not failed.
      if (!quitting.signal.aborted || error !== quitting.signal.reason) throw error;
    } finally {
      release();
      room.status.stop();
      screen.stop();
    }
    tellHowToGoOn(room);
    return signal.aborted ? ExitCode.cancelled : ExitCode.done;
  });
}

type Room = ReturnType<typeof makeRoom>;

/** What stands before there is a session: the first frame shows it. */
function makeRoom(call: AgentCall, terminal: Terminal, signal: AbortSignal) {
  const theme = makeTheme(schemeOfEnvironment(call.io.env));
  const screen = new Screen({ terminal, theme });
  const chat = new ChatView(screen);
  const { cwd } = call.io;
  const status = new Status({
    ...{ screen, cwd, folder: shownPath(cwd, cwd) },
    agent: () => host?.agent,
    statuses: () => ui.extensionLines.statuses,
  });
  const tell: InteractiveWork["tell"] = (notice) => chat.line(...shownNotice(notice));
  const editor = new PromptEditor(screen);
  const quitting = new Quitting(signal);
  const ui = panelUi({ screen, tell, editor, signal: quitting.signal });
  const submitting = new Submitting({ editor, tell });
  const interrupting = new Interrupting({ screen, editor, quitting, submitting });
  editor.onSubmit = (text) => {
    editor.addToHistory(text);
    submitting.submit(text);
  };
  screen.tui.addInputListener((data) => interrupting.hear(data));
  let host: AgentHost | undefined;
  return {
    ...{ call, theme, screen, chat, status, tell, ui, editor, quitting, submitting, interrupting },
    host: () => host,
    enter(opened: AgentHost) {
      host = opened;
    },
  };
}

/** Opens the session, and works in it until the user quits. */
async function work(room: Room): Promise<void> {
  const { call, tell, ui, chat, status, quitting } = room;
  const workshop = await openWorkshop(
    { ...call, options: { ...call.options, mode: "tui" } },
    {
      ...{ ui, signal: quitting.signal },
      tell: (notice) => status.notice(notice) || tell(notice),
      listen: (lifecycle) => {
        chat.listen(lifecycle);
        status.listen(lifecycle);
      },
    },
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
  // Before anything is told: it would be drawn over.
  chat.rebuild(host.agent.session);
  furnish(work);
  followSessions(work);
  followCompactions(work, host.workshop.lifecycle);
  host.workshop.seat.ending.addEventListener("abort", () => quitting.quit(), { once: true });
  screen.redraw();
  interrupting.begin(work);
  // Also while an extension takes its time at the start, the user can quit.
  await Promise.race([host.start(), quitting.asked]);
  if (!quitting.signal.aborted) submitting.begin(work, host.workshop.call.words);
  await quitting.asked;
  screen.leaveAll();
  await host.stop();
}

/** What stands around the chat; each room brings its own. */
function furnish(work: InteractiveWork): void {
  attachPrompt(work);
}

function tellHowToGoOn({ call, host }: Room): void {
  const session = host()?.agent.session;
  if (session?.file === undefined || session.leafId === null) return;
  call.output.notice([
    "Go on with ",
    span(resumeCommand({ id: session.id, file: session.file }, call.io), "cyan"),
  ]);
}
