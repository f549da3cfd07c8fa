import type { ReviewCompaction } from "@bonsai-agent/compaction";
import { raceAbort } from "@bonsai-agent/messages/host";
import { bonsaiHome } from "@bonsai-agent/session";
import { SearchThread } from "@bonsai-agent/session/search";
import { AgentHost } from "../../call/agent-host.ts";
import { type AppContext, openAppContext } from "../../call/app-context.ts";
import type { AgentCall } from "../../call/invocation.ts";
import { resumeCommand, shownPath } from "../../call/paths.ts";
import { errorText } from "../../views/error-text.ts";
import { span } from "../../views/line.ts";
import { ChatView } from "../chat/chat-view.ts";
import { ChatDrawings } from "../extension-views/chat-drawings.ts";
import { extensionUi } from "../extension-views/extension-ui.ts";
import type { InteractiveContext } from "../interactive-context.ts";
import { noModel } from "../no-model.ts";
import { PromptHistory } from "../prompt/prompt-history.ts";
import { compactNow } from "../slash/compaction-commands.ts";
import { completionStack } from "../slash/completion-stack.ts";
import { followCompactions } from "../slash/follow-compactions.ts";
import { PromptCompletion } from "../slash/prompt-completion.ts";
import { pickListed } from "../slash/session-commands.ts";
import { reservedNames } from "../slash/slash-commands.ts";
import { readThemes } from "../slash/theme.ts";
import { askAtStart } from "../slash/trust.ts";
import { Status } from "../status/status.ts";
import { bindKeys } from "../terminal/keybindings-file.ts";
import { keys, shortcutConflicts } from "../terminal/keys.ts";
import { withTabs } from "../terminal/typed-input.ts";
import { indexInBackground, readAhead } from "./background.ts";
import { offerColdCompaction } from "./cold-resume.ts";
import { panelReview } from "./compaction-review.ts";
import type { FirstFrame } from "./first-frame.ts";
import { KeyHandler } from "./key-handler.ts";
import { offerPiImport } from "./pi-offer.ts";
import { PromptQueue } from "./prompt-queue.ts";
import { welcome } from "./welcome.ts";

/** Opens the session and runs until the user quits. @returns prints how to continue, once the screen is left */
export async function runSession(firstFrame: FirstFrame): Promise<() => void> {
  const mode = makeMode(firstFrame);
  const { notify, home, status, editor } = mode.context;
  for (const message of bindKeys(home)) notify(message, "warning");
  try {
    await openSession(mode, firstFrame.quitAgainSignal);
  } finally {
    status.stop();
    // A signal may arrive in the middle of a sentence: the text is one key up the next time.
    editor.addToHistory(editor.getExpandedText());
  }
  return () => printHowToContinue(mode);
}

interface Mode {
  context: InteractiveContext;
  /** The parts that come when the session is open. */
  opened: { host?: AgentHost; search?: SearchThread; review?: ReviewCompaction; isUnstored?: boolean };
  ui: ReturnType<typeof extensionUi>;
  queue: PromptQueue;
  completion: PromptCompletion;
}

function makeMode(firstFrame: FirstFrame): Mode {
  const { call, screen, themes, editor, quitSignal, quit } = firstFrame;
  const { cwd } = call.io;
  const opened: Mode["opened"] = {};
  const drawings = new ChatDrawings({
    ...{ cwd, theme: screen.theme },
    redraw: () => screen.redraw(),
    renderers: () => opened.host?.app.extensions.now.renderers,
  });
  const chat = new ChatView(screen, { drawings, now: call.io.now });
  const status: Status = new Status({
    ...{ screen, cwd, folder: shownPath(cwd, cwd) },
    agent: () => opened.host?.agent,
    held: () => queue.held,
    statuses: () => ui.extensionLines.statuses,
  });
  const ui = extensionUi({
    ...{ screen, themes, notify: chat.notify, editor, chat, cwd, signal: quitSignal },
    working: status.activity,
    addAutocompleteProvider: (...added) => addCompletions(...added),
  });
  const context: InteractiveContext = {
    ...{ call, screen, theme: screen.theme, themes, chat, status, editor, ui, notify: chat.notify },
    home: bonsaiHome({ ...call.io.env }),
    get isOpen() {
      return opened.host !== undefined;
    },
    get host() {
      return required(opened.host);
    },
    get search() {
      return required(opened.search);
    },
    submit: (text, behavior) => queue.submit(text, { behavior }),
    pressed: (command) => queue.submit(command, { isKey: true }),
    compactBefore: (firstKeptEntryId, focus) => {
      const asked = { firstKeptEntryId, ...(focus !== undefined && { focus }) };
      compactNow(asked, context).catch((error) => chat.notify(errorText(error), "error"));
    },
    interruptible: (task) => keyHandler.interruptible(task),
    quitSignal,
    quit,
  };
  const queue = new PromptQueue(context);
  const keyHandler = new KeyHandler(context, queue);
  const completion = new PromptCompletion(context);
  const addCompletions = connectEditor(context, queue, completion);
  editor.onEscape = () => keyHandler.escapeUnused();
  for (const text of firstFrame.takeEarly()) editor.onSubmit?.(text);
  screen.tui.addInputListener((data) => keyHandler.onKey(data));
  return { context, opened, ui, queue, completion };
}

/** Connects the editor with the queue, the prompt history and the completion. */
function connectEditor(
  { editor, home, notify }: InteractiveContext,
  queue: PromptQueue,
  completion: PromptCompletion,
): ReturnType<typeof completionStack> {
  editor.onSubmit = (held) => {
    const text = withTabs(held);
    editor.addToHistory(text);
    queue.submit(text);
  };
  editor.useHistory(new PromptHistory(home, (message) => notify(message, "warning")));
  editor.setAutocompleteProvider(completion);
  return completionStack(completion, (provider) => editor.setAutocompleteProvider(provider));
}

function required<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new Error("The session is not open yet.");
  return value;
}

async function openSession(mode: Mode, quitAgainSignal: AbortSignal): Promise<void> {
  const { context, opened } = mode;
  const { call, chat, home, themes, notify } = context;
  await offerPiImport(context);
  if (call.options.approve !== true) await askAtStart(context);
  const app = await openApp(mode);
  opened.search = new SearchThread({
    home,
    index: app.settings.index.enabled,
    onNotice: ({ message }) => notify(message, "warning"),
  });
  // Reads the themes while the session is opened.
  themes.choose(app.settings.theme);
  const hasMoreThemes = app.lifecycle.hasHandlers("resources_discover");
  const reading = readThemes(app, context, { mayGrow: hasMoreThemes });
  try {
    const chosen = await chosenCall(context, app);
    if (chosen === undefined) return;
    const host = await AgentHost.open(
      { ...app, call: chosen },
      { spareModel: noModel, signal: context.quitSignal },
    );
    try {
      opened.host = host;
      chat.rebuild(host.agent.session);
      const started = Promise.withResolvers<void>();
      if (call.words.length === 0) welcome(context, started.promise);
      await untilQuit(mode, reading, started.resolve);
    } finally {
      opened.isUnstored = await closeHost(context, quitAgainSignal);
    }
  } finally {
    opened.search.close();
    app.close();
  }
}

/** Stores a shared session. If the database does not answer, the user can quit without it. @returns true after that */
async function closeHost(
  { host, status }: InteractiveContext,
  quitAgainSignal: AbortSignal,
): Promise<boolean> {
  const key = keys.label("quit");
  const closing = raceAbort(host.close(), quitAgainSignal);
  try {
    await status.during(`Storing the session in the database. Press ${key} to quit without it.`, closing);
  } catch (error) {
    if (!quitAgainSignal.aborted) throw error;
    return true;
  }
  return false;
}

function openApp({ context, opened, ui }: Mode): Promise<AppContext> {
  const { call, chat, status, quitSignal } = context;
  const opening = openAppContext(
    { ...call, options: { ...call.options, mode: "tui" } },
    {
      ui,
      reviewCompaction: async (draft) => (await opened.review?.(draft)) ?? { action: "cancel" },
      signal: quitSignal,
      reservedCommands: reservedNames,
      onSlowAnswer: (wait) => status.onSlowAnswer(wait),
      onNotice: (notice) => status.showsRetry(notice) || chat.notify(notice.message, notice.level),
      listen: (lifecycle) => {
        chat.listen(lifecycle);
        status.listen(lifecycle);
      },
    },
  );
  return status.during("Loading extensions…", opening);
}

/** `-r` without an id: the user picks. @returns undefined if the user left the list */
async function chosenCall(context: InteractiveContext, app: AppContext): Promise<AgentCall | undefined> {
  const { call } = app;
  if (call.options.resume !== true) return call;
  const picked = await pickListed(context, app);
  return picked && { ...call, options: { ...call.options, resume: picked.key } };
}

/**
 * @param reading resolves when the theme files are read; extensions may ask for them from the start
 * @param onStarted called once skills, prompt templates and MCP servers are known
 */
async function untilQuit(mode: Mode, reading: Promise<void>, onStarted: () => void): Promise<void> {
  const { context, opened, ui, queue, completion } = mode;
  const { host, screen, quitSignal, quit } = context;
  const asked = new Promise<void>((resolve) => {
    if (quitSignal.aborted) resolve();
    quitSignal.addEventListener("abort", () => resolve(), { once: true });
  });
  opened.review = panelReview(context, (signal) => ui.untilRest(signal));
  completion.begin();
  followSessions(context);
  readAhead(context);
  followCompactions(context);
  const stopIndexing = host.app.settings.index.enabled ? indexInBackground(context) : () => {};
  // An extension that ends the program lets the current work finish.
  host.app.ending.addEventListener("abort", () => void host.agent.idle().then(quit), { once: true });
  screen.redraw();
  // The user can quit while an extension takes its time to start.
  await Promise.race([reading.then(() => host.start()).then(onStarted), asked]);
  // By then, extensions have named their themes.
  if (host.app.lifecycle.hasHandlers("resources_discover")) await readThemes(host.app, context);
  if (!quitSignal.aborted) await Promise.race([offerColdCompaction(context), asked]);
  if (!quitSignal.aborted) queue.begin(host.app.call.words);
  await asked;
  stopIndexing();
  queue.end();
  screen.leaveAll();
  await host.stop();
}

function printHowToContinue({ context: { call }, opened: { host, isUnstored } }: Mode): void {
  const session = host?.agent.session;
  if (session?.file === undefined || session.leafId === null) return;
  const command = resumeCommand({ id: session.id, file: session.file }, call.io);
  if (isUnstored === true)
    call.output.notify({
      code: "session_unstored",
      message: `The database lacks the latest entries. \`${command}\` on this machine stores them.`,
    });
  call.output.note(["Continue with ", span(command, "cyan")]);
}

/** Shows each session that is opened later. */
function followSessions(context: InteractiveContext): void {
  const { host, chat, screen } = context;
  host.app.lifecycle.on("session_start", ({ reason }) => {
    if (reason === "startup" || reason === "reload")
      for (const message of shortcutConflicts(host.app.extensions.now.shortcuts))
        chat.notify(message, "warning");
    if (reason === "reload") chat.redrawDrawn();
    if (reason !== "new" && reason !== "resume" && reason !== "fork") return;
    // The first session is shown already, with the notices since.
    if (chat.isShowing(host.agent.session)) return;
    chat.rebuild(host.agent.session);
    // A fork has its own notice.
    if (reason !== "fork" || host.agent.session.leafId === null) welcome(context, Promise.resolve());
    screen.redraw();
    // The event must not wait for the user.
    if (reason === "resume")
      offerColdCompaction(context).catch((error) => chat.notify(errorText(error), "error"));
  });
}
