import type { ReviewCompaction } from "@bonsai-agent/compaction";
import { bonsaiHome } from "@bonsai-agent/session";
import { SearchThread } from "@bonsai-agent/session/search";
import { AgentHost } from "../../call/agent-host.ts";
import { openAppContext } from "../../call/app-context.ts";
import type { AgentCall } from "../../call/invocation.ts";
import { resumeCommand, shownPath } from "../../call/paths.ts";
import { userHomeFolder } from "../../call/resource-places.ts";
import { sessionPlace } from "../../call/session-file.ts";
import { span } from "../../views/line.ts";
import { ChatView } from "../chat/chat-view.ts";
import { errorText } from "../error-text.ts";
import { ChatDrawings } from "../extension-views/chat-drawings.ts";
import { extensionUi } from "../extension-views/extension-ui.ts";
import type { InteractiveContext } from "../interactive-context.ts";
import { noModel } from "../no-model.ts";
import { pickSession } from "../panels/session-picker.ts";
import { PromptHistory } from "../prompt/prompt-history.ts";
import { compactNow } from "../slash/compaction-commands.ts";
import { followCompactions } from "../slash/compaction-notices.ts";
import { CompletionStack } from "../slash/completion-stack.ts";
import { PromptCompletion } from "../slash/prompt-completion.ts";
import { reservedNames, slashCommands } from "../slash/slash-commands.ts";
import { readThemes } from "../slash/theme.ts";
import { askAtStart } from "../slash/trust.ts";
import { Status } from "../status/status.ts";
import { bindKeys } from "../terminal/keybindings-file.ts";
import { shortcutConflicts } from "../terminal/shortcut-conflicts.ts";
import { withTabs } from "../terminal/typed-input.ts";
import { indexInBackground } from "./background-index.ts";
import { panelReview } from "./compaction-review.ts";
import type { FirstFrame } from "./first-frame.ts";
import { GracePeriod } from "./grace-period.ts";
import { KeyHandler } from "./key-handler.ts";
import { offerPiImport } from "./pi-offer.ts";
import { readAhead } from "./read-ahead.ts";
import { Submitting } from "./submitting.ts";
import { welcome } from "./welcome.ts";

/** Opens the session, and runs until the user quits. @returns prints how to go on, once the screen is left */
export async function live(firstFrame: FirstFrame): Promise<() => void> {
  const parts = makeParts(firstFrame);
  const { chat, status, editor } = parts;
  for (const message of bindKeys(parts.home)) chat.notify(message, "warning");
  try {
    await openSession(parts);
  } finally {
    status.stop();
    // A signal can come in the middle of a sentence: it is one key up the next time.
    editor.addToHistory(editor.getExpandedText());
  }
  return () => printHowToGoOn(parts);
}

type Parts = ReturnType<typeof makeParts>;

/** What there is before a session is open. */
function makeParts(firstFrame: FirstFrame) {
  const { call, screen, themes, editor, quitting } = firstFrame;
  const { cwd } = call.io;
  const home = bonsaiHome({ ...call.io.env });
  /** Undefined before the session is open. */
  const opened: { host?: AgentHost; review?: ReviewCompaction } = {};
  const redraw = () => screen.redraw();
  const renderers = () => opened.host?.app.extensions.renderers;
  const drawings = new ChatDrawings({ cwd, theme: screen.theme, redraw, renderers });
  const chat = new ChatView(screen, { drawings, now: call.io.now });
  const { notify } = chat;
  const status = new Status({
    screen,
    cwd,
    folder: shownPath(cwd, cwd),
    agent: () => opened.host?.agent,
    held: () => submitting.held,
    statuses: () => ui.extensionLines.statuses,
  });
  const ui = extensionUi({
    ...{ screen, themes, notify, editor, chat, cwd },
    signal: quitting.signal,
    completion: { add: (make, onFailure) => completions.add(make, onFailure) },
    working: status,
  });
  const gracePeriod = new GracePeriod();
  const submitting = new Submitting({ editor, notify, gracePeriod, redraw });
  const keyHandler = new KeyHandler({
    screen,
    editor,
    quitting,
    submitting,
    gracePeriod,
    onStop: () => status.stopBegan(),
    hint: (text, forMs) => status.hint(text, forMs),
  });
  editor.onSubmit = (held) => {
    const text = withTabs(held);
    editor.addToHistory(text);
    submitting.submit(text);
  };
  editor.useHistory(new PromptHistory({ home, onNotice: (message) => notify(message, "warning") }));
  const completion = new PromptCompletion({ cwd, commands: slashCommands, notify });
  const completions = new CompletionStack({
    base: completion,
    onChange: (provider) => editor.setAutocompleteProvider(provider),
  });
  editor.setAutocompleteProvider(completion);
  editor.onEscape = () => keyHandler.escapeUnused();
  for (const text of firstFrame.takeEarly()) editor.onSubmit(text);
  screen.tui.addInputListener((data) => keyHandler.onKey(data));
  return { ...firstFrame, home, opened, chat, status, ui, gracePeriod, submitting, keyHandler, completion };
}

async function openSession(parts: Parts): Promise<void> {
  const { call, home, opened, ui, chat, status, gracePeriod, quitting, screen, themes } = parts;
  const userHome = userHomeFolder(call.io.env);
  await offerPiImport({ screen, home, env: call.io.env, notify: chat.notify });
  if (call.options.approve !== true) await askAtStart({ screen, home, userHome, cwd: call.io.cwd });
  const app = await status.during(
    "Loading extensions…",
    openAppContext(
      { ...call, options: { ...call.options, mode: "tui" } },
      {
        ui,
        reviewCompaction: async (draft) => (await opened.review?.(draft)) ?? { action: "cancel" },
        signal: quitting.signal,
        reservedCommands: reservedNames,
        onSlowAnswer: (wait) => status.onSlowAnswer(wait),
        onNotice: (notice) => status.showsRetry(notice) || chat.notify(notice.message, notice.level),
        listen: (lifecycle) => {
          chat.listen(lifecycle);
          status.listen(lifecycle);
          gracePeriod.listen(lifecycle);
        },
      },
    ),
  );
  const index = app.settings.index.enabled;
  const search = new SearchThread({
    home,
    index,
    onNotice: ({ message }) => chat.notify(message, "warning"),
  });
  // Read while the session is opened.
  themes.choose(app.settings.theme);
  const comesMore = app.lifecycle.hasHandlers("resources_discover");
  const reading = readThemes(app, { themes, notify: chat.notify }, comesMore ? "first" : undefined);
  try {
    const chosen = await chosenCall(parts, app.call, search);
    if (chosen === undefined) return;
    const host = await AgentHost.open({ ...app, call: chosen }, { spareModel: noModel });
    try {
      opened.host = host;
      chat.rebuild(host.agent.session);
      const started = Promise.withResolvers<void>();
      if (call.words.length === 0) welcome(chat, host, started.promise);
      await runSession(parts, { host, search, reading, onStarted: started.resolve });
    } finally {
      await host.close();
    }
  } finally {
    search.close();
    app.close();
  }
}

/** `-r` without an id: the user picks. @returns undefined where the user left the list */
async function chosenCall(
  { screen }: Parts,
  call: AgentCall,
  search: SearchThread,
): Promise<AgentCall | undefined> {
  if (call.options.resume !== true) return call;
  const { cwd, now } = call.io;
  const picked = await pickSession({ screen, search, place: sessionPlace(call), cwd, now });
  return picked && { ...call, options: { ...call.options, resume: picked.file } };
}

interface SessionParts {
  host: AgentHost;
  search: SearchThread;
  /** Resolves when the files of themes are read: extensions can ask for them from the start. */
  reading: Promise<void>;
  /** Called once skills, prompt templates and MCP servers are known. */
  onStarted: () => void;
}

async function runSession(parts: Parts, { host, search, reading, onStarted }: SessionParts): Promise<void> {
  const { screen, themes, chat, status, editor, ui, quitting, submitting, keyHandler, completion } = parts;
  const context: InteractiveContext = {
    host,
    screen,
    theme: screen.theme,
    themes,
    chat,
    editor,
    ui,
    search,
    notify: chat.notify,
    submit: (text, behavior) => submitting.submit(text, { behavior }),
    pressed: (command) => submitting.submit(command, { isKey: true }),
    quit: () => quitting.quit(),
    compactBefore: (firstKeptEntryId, focus) => {
      const asked = { firstKeptEntryId, ...(focus !== undefined && { focus }) };
      compactNow(asked, context).catch((error) => chat.notify(errorText(error), "error"));
    },
    contextChanged: () => status.contextChanged(),
    interruptible: (task) => keyHandler.interruptible(task),
  };
  parts.opened.review = panelReview({ context, untilRest: (signal) => ui.untilRest(signal) });
  completion.begin(context);
  followSessions(context);
  readAhead(context, () => status.contextCounted());
  followCompactions(context);
  const stopIndexing = host.app.settings.index.enabled ? indexInBackground(context, search) : () => {};
  // Of an extension that ends the program, what goes on comes to its end.
  const quitAtRest = () => void host.agent.idle().then(() => quitting.quit());
  host.app.ending.addEventListener("abort", quitAtRest, { once: true });
  screen.redraw();
  keyHandler.begin(context);
  // Also while an extension takes its time at the start, the user can quit.
  await Promise.race([reading.then(() => host.start()).then(onStarted), quitting.asked]);
  // By then, extensions have said where they have themes.
  if (host.app.lifecycle.hasHandlers("resources_discover")) await readThemes(host.app, context, "rest");
  if (!quitting.signal.aborted) submitting.begin(context, host.app.call.words);
  await quitting.asked;
  stopIndexing();
  submitting.end();
  themes.close();
  screen.leaveAll();
  await host.stop();
}

function printHowToGoOn({ call, opened: { host } }: Parts): void {
  const session = host?.agent.session;
  if (session?.file === undefined || session.leafId === null) return;
  const command = resumeCommand({ id: session.id, file: session.file }, call.io);
  call.output.note(["Continue with ", span(command, "cyan")]);
}

/** Another session, whoever went there: the chat shows what it has. */
function followSessions({ host, chat, screen }: InteractiveContext): void {
  host.app.lifecycle.on("session_start", ({ reason }) => {
    if (reason === "startup" || reason === "reload")
      for (const message of shortcutConflicts(host.app.extensions.shortcuts)) chat.notify(message, "warning");
    if (reason === "reload") chat.redrawDrawn();
    if (reason !== "new" && reason !== "resume" && reason !== "fork") return;
    // The session that the program was started with stands there already, and under it what was notified since.
    if (chat.isShowing(host.agent.session)) return;
    chat.rebuild(host.agent.session);
    // Who forks is told what that means.
    if (reason !== "fork" || host.agent.session.leafId === null) welcome(chat, host, Promise.resolve());
    screen.redraw();
  });
}
