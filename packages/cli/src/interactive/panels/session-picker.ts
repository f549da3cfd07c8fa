import { existsSync, mkdirSync, renameSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { listSessions, openSession, type SessionSummary } from "@bonsai-agent/session";
import type { SessionPlace } from "../../call/session-file.ts";
import { counted } from "../../views/numbers.ts";
import { oneLine } from "../../views/terminal-text.ts";
import { errorLine } from "../error-text.ts";
import type { Screen } from "../terminal/screen.ts";
import { askText, askYes } from "./ask.ts";
import { wholePath } from "./panel-frame.ts";
import { PickList } from "./pick-list.ts";
import { type ListedSession, sessionPreview, sessionRow, sessionText, sessionTitle } from "./session-row.ts";
import { type FindsTexts, SessionTextSearch } from "./session-text-search.ts";

interface PickSessionOptions {
  screen: Screen;
  place: SessionPlace;
  cwd: string;
  now: () => number;
  search: FindsTexts;
  /** The file of the session that is worked in: it can be named, and not deleted. */
  inUse?: string | undefined;
  /** What is looked for at first. Default: nothing. */
  query?: string;
  /** Names the session that is worked in. */
  nameInUse?: (name: string) => Promise<void>;
}

/**
 * Lets the user choose among the recorded sessions: of this folder, or of all; by name, first words and folder, and by
 * their whole text. They can be named there, and deleted. @returns undefined where the user left it
 */
export async function pickSession(options: PickSessionOptions): Promise<SessionSummary | undefined> {
  let picker: SessionPicker | undefined;
  try {
    return await options.screen.show<SessionSummary>((done) => {
      picker = new SessionPicker(options, done);
      return picker.list;
    });
  } finally {
    picker?.stopSearch();
  }
}

/** Owner of which sessions are listed while one is picked. */
class SessionPicker {
  readonly list: PickList<ListedSession>;
  readonly #options: PickSessionOptions;
  #isEverywhere = false;
  #sessions: readonly ListedSession[] = [];
  #skipped = 0;
  readonly #texts: SessionTextSearch;
  #isAsking = false;
  readonly #deleted: { file: string; inTrash: string }[] = [];

  constructor(options: PickSessionOptions, done: (session: SessionSummary | undefined) => void) {
    const { screen, now, cwd, inUse, query = "" } = options;
    this.#options = options;
    this.#texts = new SessionTextSearch(options.search, () => this.#show());
    const nowMs = now();
    this.list = new PickList<ListedSession>({
      place: screen,
      title: "",
      items: [],
      query,
      key: ({ file }) => file,
      text: sessionText,
      isFound: ({ snippet }) => snippet !== undefined,
      row: (session) => {
        const isByText = session.snippet !== undefined && !this.list.model.holdsQuery(session);
        return sessionRow(session, { nowMs, inUse, cwd, hasFolders: this.#isEverywhere, isByText });
      },
      preview: (session, width) => sessionPreview(session, { theme: screen.theme, width, nowMs }),
      picks: "open",
      onPick: done,
      onCancel: () => done(undefined),
      onQuery: () => this.#lookInTexts(),
      actions: [
        { key: "tab", does: "this folder or all", run: () => this.#toggleFolders() },
        { key: "ctrl+r", does: "rename", run: (session) => this.#guard(() => this.#rename(session)) },
        { key: "ctrl+d", does: "delete", run: (session) => this.#guard(() => this.#delete(session)) },
        { key: "ctrl+z", does: "", run: () => this.#guard(() => this.#takeBack()) },
      ],
    });
    this.#reload();
    if (query !== "") this.#lookInTexts();
  }

  #reload(): void {
    const { place, cwd } = this.#options;
    const { sessions, skipped } = listSessions(this.#isEverywhere ? place : { ...place, cwd });
    this.#sessions = sessions;
    this.#skipped = skipped.length;
    this.#show();
  }

  /** The sessions as they are now, and where their texts hold what is typed. */
  #show(status: string | undefined = this.#problems()): void {
    const { filesToRead } = this.#texts;
    const place = this.#isEverywhere ? "all folders" : wholePath(this.#options.cwd);
    const reading = filesToRead === 0 ? "" : ` · reading ${counted(filesToRead, "session")} not yet indexed…`;
    this.list.update({
      title: `Sessions in ${place}${reading}`,
      empty: this.#isEverywhere
        ? "No sessions yet."
        : "No sessions in this folder yet. Tab shows all folders.",
      status,
    });
    this.list.setItems(
      this.#sessions.map((session) => ({ ...session, snippet: this.#texts.snippet(session.file) })),
    );
  }

  #problems(): string | undefined {
    const { problem } = this.#texts;
    if (problem !== undefined) return errorLine(problem);
    const count = Math.max(this.#skipped, this.#texts.unread);
    if (count === 0) return undefined;
    return `${counted(count, "file")} could not be read as a session. Run \`bonsai session list\` to see which.`;
  }

  #toggleFolders(): void {
    this.#isEverywhere = !this.#isEverywhere;
    this.#lookInTexts();
    this.#reload();
  }

  #lookInTexts(): void {
    const { place, cwd } = this.#options;
    const folder = place.folder === undefined ? {} : { folder: place.folder };
    const scope = this.#isEverywhere ? folder : { ...folder, cwd };
    this.#texts.look(this.list.model.query, { ...scope, most: this.#sessions.length });
    this.#show();
  }

  stopSearch(): void {
    this.#texts.stop();
  }

  async #rename(session: ListedSession | undefined): Promise<void> {
    if (session === undefined) return;
    const { screen, inUse, nameInUse } = this.#options;
    const typed = await askText(screen, {
      title: "Session name",
      message: session.firstWords ?? "",
      value: session.name ?? "",
      placeholder: "no name",
    });
    if (typed === undefined) return;
    const name = oneLine(typed);
    const notices: string[] = [];
    if (session.file === inUse && nameInUse !== undefined) await nameInUse(name);
    else nameFile(session.file, name, (message) => notices.push(message));
    this.#reload();
    if (notices.length > 0) this.list.update({ status: notices.join(" ") });
  }

  async #delete(session: ListedSession | undefined): Promise<void> {
    if (session === undefined) return;
    const { screen, place, inUse } = this.#options;
    const { home } = place;
    if (session.file === inUse)
      return this.list.update({
        status: "This session is open. Open another session first, then delete this one.",
      });
    const isSure = await askYes(screen, {
      title: "Delete this session?",
      message: `${sessionTitle(session)}\n\nThe file moves to ${wholePath(trashFolder(home))}. Bonsai never empties this folder.`,
    });
    if (!isSure) return;
    const inTrash = trashSession(session.file, home);
    this.#deleted.push({ file: session.file, inTrash });
    this.#reload();
    this.list.update({ status: `Moved to ${wholePath(trashFolder(home))}. Press Ctrl-Z to restore it.` });
  }

  /** The latest that was deleted here. */
  async #takeBack(): Promise<void> {
    const latest = this.#deleted.at(-1);
    if (latest === undefined) return this.list.update({ status: "There is no deleted session to restore." });
    takeBack(latest);
    this.#deleted.pop();
    this.#reload();
    this.list.model.select(latest.file);
    this.list.update({ status: "Restored the session." });
  }

  /** One thing at a time; what fails stands below the list. */
  #guard(act: () => Promise<void>): void {
    if (this.#isAsking) return;
    this.#isAsking = true;
    act()
      .catch((error: unknown) => this.list.update({ status: errorLine(error) }))
      .finally(() => {
        this.#isAsking = false;
      });
  }
}

function nameFile(file: string, name: string, onNotice: (message: string) => void): void {
  const session = openSession(file, { onNotice: ({ message }) => onNotice(message) });
  try {
    session.append({ type: "session_info", name });
  } finally {
    session.close();
  }
}

/** Where deleted sessions lie, in the folders that they had among the recorded ones. */
function trashFolder(home: string): string {
  return join(home, "trash");
}

/**
 * Moves a session's file to the trash: it is found there under its own folder's name, and moved back to have it again.
 * @returns where it lies now
 * @throws what the file system throws; then nothing has changed
 */
function trashSession(file: string, home: string): string {
  const folder = join(trashFolder(home), basename(dirname(file)));
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const to = freeName(join(folder, basename(file, ".jsonl")));
  renameSync(file, to);
  return to;
}

/** Moves a session's file back from the trash. @throws what the file system throws, and where another has its place */
function takeBack({ file, inTrash }: { file: string; inTrash: string }): void {
  if (existsSync(file)) throw new Error(`${file} already exists.`);
  renameSync(inTrash, file);
}

/** Nothing in the trash is written over. */
function freeName(stem: string): string {
  for (let at = 0; ; at += 1) {
    const file = `${stem}${at === 0 ? "" : `-${at}`}.jsonl`;
    if (!existsSync(file)) return file;
  }
}
