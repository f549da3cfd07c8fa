import type { Agent } from "@bonsai-agent/agent";
import { AgentHost } from "@bonsai-agent/app/agent-host";
import { openAppContext } from "@bonsai-agent/app/app-context";
import type { AgentCall } from "@bonsai-agent/app/invocation";
import { span } from "@bonsai-agent/app/line";
import { resumeCommand, shownPath } from "@bonsai-agent/app/paths";
import { bonsaiHome } from "@bonsai-agent/session";
import { ChatView } from "../chat/chat-view.ts";
import { type ChatLine, markedText } from "../chat/line-block.ts";
import { ChatDrawings } from "../extension-views/chat-drawings.ts";
import { extensionUi } from "../extension-views/extension-ui.ts";
import type { InteractiveContext, Told } from "../interactive-context.ts";
import { isNoModel, noModel } from "../no-model.ts";
import { pickSession } from "../panels/session-picker.ts";
import { followCompactions } from "../slash/compaction-notices.ts";
import { attachPrompt } from "../slash/prompt-completion.ts";
import { askAtStart } from "../slash/settings-commands.ts";
import { slashCommands } from "../slash/slash-commands.ts";
import { Status } from "../status/status.ts";
import { applyTheme } from "../terminal/capabilities.ts";
import { bindKeys } from "../terminal/keybindings-file.ts";
import type { StyleName } from "../terminal/theme.ts";
import type { Entrance } from "./entrance.ts";
import { GracePeriod } from "./grace-period.ts";
import { KeyHandler } from "./key-handler.ts";
import { readAhead } from "./read-ahead.ts";
import { Submitting } from "./submitting.ts";

/** Opens the session, and lives in it until the user quits. @returns says how to go on, once the screen is left */
export async function live(entrance: Entrance): Promise<() => void> {
  const room = makeRoom(entrance);
  for (const message of bindKeys(bonsaiHome({ ...entrance.call.io.env })))
    room.tell({ level: "warning", message });
  try {
    await open(room);
  } finally {
    room.status.stop();
    // A signal can come in the middle of a sentence: it is one key up the next time.
    room.editor.addToHistory(room.editor.getExpandedText());
  }
  return () => tellHowToGoOn(room);
}

type Room = ReturnType<typeof makeRoom>;

/** What stands before there is a session. */
function makeRoom({ call, screen, editor, quitting, takeEarly }: Entrance) {
  const { cwd } = call.io;
  const chat = new ChatView(
    screen,
    new ChatDrawings({
      ...{ cwd, theme: screen.theme, redraw: () => screen.redraw() },
      renderers: () => host?.workshop.extensions.renderers,
    }),
  );
  const status = new Status({
    ...{ screen, cwd, folder: shownPath(cwd, cwd) },
    agent: () => host?.agent,
    held: () => submitting.held,
    statuses: () => ui.extensionLines.statuses,
  });
  let host: AgentHost | undefined;
  // What is told before the chat shows a session stays in it.
  const tell: InteractiveContext["tell"] = (notice) => chat.line(shownNotice(notice));
  const ui = extensionUi({
    ...{ screen, tell, editor, chat, cwd, signal: quitting.signal },
    onWorkingMessage: (message) => status.say(message),
  });
  const rest = new GracePeriod();
  const submitting = new Submitting({ editor, tell, rest, redraw: () => screen.redraw() });
  const interrupting = new KeyHandler({
    ...{ screen, editor, quitting, submitting, rest },
    onStop: () => status.stopBegan(),
    hint: (text, forMs) => status.hint(text, forMs),
  });
  editor.onSubmit = (text) => {
    editor.addToHistory(text);
    submitting.submit(text);
  };
  const furnish = attachPrompt({ call, editor, tell });
  for (const text of takeEarly()) editor.onSubmit(text);
  screen.tui.addInputListener((data) => interrupting.hear(data));
  return {
    ...{ call, screen, chat, status, tell, ui, editor, quitting, rest, submitting, interrupting, furnish },
    host: () => host,
    enter(opened: AgentHost) {
      host = opened;
      chat.rebuild(opened.agent.session);
      if (call.words.length === 0) welcome(chat, opened.agent, call.version);
    },
  };
}

async function open(room: Room): Promise<void> {
  const { call, tell, ui, chat, status, rest, quitting, screen } = room;
  await askAtStart({ screen, home: bonsaiHome({ ...call.io.env }), cwd: call.io.cwd });
  const workshop = await status.during(
    "Loading extensions…",
    openAppContext(
      { ...call, options: { ...call.options, mode: "tui" } },
      {
        ...{ ui, signal: quitting.signal },
        reservedCommands: slashCommands.map(({ name }) => name),
        onWait: (wait) => status.waits(wait),
        tell: (notice) => status.notice(notice) || tell(notice),
        listen: (lifecycle) => {
          chat.listen(lifecycle);
          status.listen(lifecycle);
          rest.listen(lifecycle);
        },
      },
    ),
  );
  try {
    const call = await chosen(room, workshop.call);
    if (call === undefined) return;
    const host = await AgentHost.open({ ...workshop, call }, { spareModel: noModel });
    try {
      room.enter(host);
      await work(room, host);
    } finally {
      await host.close();
    }
  } finally {
    workshop.close();
  }
}

/** `-r` without an id: the user picks. @returns undefined where that was left */
async function chosen({ screen }: Room, call: AgentCall): Promise<AgentCall | undefined> {
  if (call.options.resume !== true) return call;
  const { cwd, env, now } = call.io;
  const picked = await pickSession({ screen, home: bonsaiHome({ ...env }), cwd, now });
  return picked && { ...call, options: { ...call.options, resume: picked.file } };
}

async function work(room: Room, host: AgentHost): Promise<void> {
  const { screen, chat, status, editor, ui, tell, quitting, submitting, interrupting } = room;
  const work: InteractiveContext = {
    ...{ host, screen, theme: screen.theme, chat, editor, ui, tell },
    submit: (text, behavior) => submitting.submit(text, { behavior }),
    pressed: (command) => submitting.submit(command, { isKey: true }),
    quit: () => quitting.quit(),
    contextChanged: () => status.contextChanged(),
    interruptible: (task) => interrupting.interruptible(task),
  };
  room.furnish(work);
  applyTheme(screen, host.workshop.settings.theme);
  followSessions(work);
  readAhead(work, () => status.contextCounted());
  followCompactions(work, host.workshop.lifecycle);
  host.workshop.seat.ending.addEventListener("abort", () => quitting.quit(), { once: true });
  screen.redraw();
  interrupting.begin(work);
  // Also while an extension takes its time at the start, the user can quit.
  await Promise.race([host.start(), quitting.asked]);
  if (!quitting.signal.aborted) submitting.begin(work, host.workshop.call.words);
  await quitting.asked;
  submitting.end();
  screen.leaveAll();
  await host.stop();
}

function tellHowToGoOn({ call, host }: Room): void {
  const session = host()?.agent.session;
  if (session?.file === undefined || session.leafId === null) return;
  call.output.notice([
    "Go on with ",
    span(resumeCommand({ id: session.id, file: session.file }, call.io), "cyan"),
  ]);
}

/** Another session, whoever went there: the chat shows what it has. */
export function followSessions({ host, chat, screen }: InteractiveContext): void {
  host.workshop.lifecycle.on("session_start", ({ reason }) => {
    if (reason === "reload") chat.redrawDrawn();
    if (reason !== "new" && reason !== "resume" && reason !== "fork") return;
    // The session that the program was started with stands there already, and under it what was told since.
    if (chat.isShowing(host.agent.session)) return;
    chat.rebuild(host.agent.session);
    welcome(chat, host.agent, host.workshop.call.version);
    screen.redraw();
  });
}

/** The first line of a session in which nothing was said yet. Where there is no model, the first run has its own. */
export function welcome(
  chat: Pick<ChatView, "line">,
  { session, model }: Pick<Agent, "session" | "model">,
  version: string,
): void {
  if (session.leafId !== null || isNoModel(model)) return;
  chat.line({
    text: `bonsai ${version} · say what to do; /help lists commands and keys`,
    look: "dim",
  });
}

const looks: Readonly<Record<Told["level"], StyleName>> = {
  info: "muted",
  warning: "warning",
  error: "error",
};
const marks: Readonly<Record<Told["level"], string>> = { info: "i", warning: "!", error: "✗" };

/** A notice as the chat shows it: the mark says what it is where there are no colours. */
export function shownNotice({ level, message, aboutEntryId, attempt }: Told): ChatLine {
  return { text: markedText(marks[level], message), look: looks[level], aboutEntryId, attempt };
}
