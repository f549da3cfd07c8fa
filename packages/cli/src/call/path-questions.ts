import { realpathSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { dirname } from "node:path";
import type { ConfirmPath } from "@bonsai-agent/agent";
import { isInside } from "@bonsai-agent/agent/host";
import type { FrontEndUI } from "@bonsai-agent/extension/host";
import { printable } from "../views/terminal-text.ts";
import { absolutePath } from "./paths.ts";
import { oneAfterTheOther } from "./questions.ts";
import { grantPath, type PathGrant, pathGrants } from "./trust.ts";

/** A path outside the project that a tool wants to use. */
type PathRequest = Parameters<ConfirmPath>[0];

interface PathQuestionsOptions {
  /** The project's folder. */
  cwd: string;
  /** Where what is granted for good is kept. */
  home: string;
  /** The setting `paths.allow`. */
  allow: readonly string[];
  /** Undefined where nobody can be asked. */
  ui: FrontEndUI | undefined;
  /** False where the answer can be yes or no alone, as programs over RPC know the question. */
  offersGrants: boolean;
}

/** What the user can answer, in the order of the list: the first is selected, and allows nothing. */
const answers = {
  no: "No",
  once: "Yes, once",
  session: "Yes, the whole folder, for this session",
  always: "Yes, the whole folder, always in this project",
} as const;

/**
 * Owner of what tools may touch beyond the project: what the user grants once, as long as a session is open, or for good. A
 * grant is a folder with its symbolic links resolved, and what is asked for comes resolved too: neither a link nor `..`
 * leads from one folder to another.
 */
export class PathQuestions {
  readonly #options: PathQuestionsOptions;
  readonly #inTurn = oneAfterTheOther();
  /** By session. */
  readonly #granted = new Map<string, Pick<PathGrant, "folder" | "access">[]>();

  constructor(options: PathQuestionsOptions) {
    this.#options = options;
  }

  /**
   * Asks for the tools of a session; what was granted before, or lies in the project after all, is not asked about.
   * @param sessionId default: none, before there is one
   */
  ask(sessionId = ""): ConfirmPath {
    // One after the other: the answer to one can be that to the next.
    return (request) => this.#inTurn(() => this.#answer(sessionId, request));
  }

  /** Tools of extensions can be made for another folder than the project, and know nothing of the settings. */
  get #usual(): Pick<PathGrant, "folder" | "access">[] {
    const { cwd, allow } = this.#options;
    return [cwd, ...allow].map((path) => ({ folder: realPath(absolutePath(path, cwd)), access: "write" }));
  }

  /** @returns undefined where nobody can be asked */
  async #answer(sessionId: string, request: PathRequest): Promise<boolean | undefined> {
    const { cwd, home, ui } = this.#options;
    const session = this.#granted.get(sessionId) ?? [];
    if ([...this.#usual, ...session, ...pathGrants(cwd, home)].some((grant) => covers(grant, request)))
      return true;
    if (ui === undefined) return undefined;
    const { toolName, path, access } = request;
    const question = access === "read" ? "Read outside the project?" : "Change a file outside the project?";
    // A line break in a name would let it write lines of its own into the question.
    const message = `The tool ${toolName} wants to ${access === "read" ? "read" : "change"} ${printable(path)}.`;
    if (!this.#options.offersGrants) return ui.confirm(question, message, { signal: request.signal });
    return this.#chosen(ui, `${question} ${message}`, { sessionId, request });
  }

  async #chosen(
    ui: FrontEndUI,
    title: string,
    { sessionId, request }: { sessionId: string; request: PathRequest },
  ): Promise<boolean> {
    const { access, signal } = request;
    const { cwd, home } = this.#options;
    const folder = folderOf(request.path);
    const grants = this.#mayGrant(folder) ? [answers.session, answers.always] : [];
    // The title is broken into lines; an answer would be cut, and what it grants not be seen.
    const whole = grants.length > 0 ? `${title} Whole folder: ${printable(folder)}` : title;
    const answer = await ui.select(whole, [answers.no, answers.once, ...grants], { signal });
    if (answer === answers.session)
      this.#granted.set(sessionId, [...(this.#granted.get(sessionId) ?? []), { folder, access }]);
    if (answer === answers.always) grantPath({ project: cwd, folder, access }, home);
    return answer !== undefined && answer !== answers.no;
  }

  /** Not the whole home folder, or what has it in it; and nothing that leads to what is granted. */
  #mayGrant(folder: string): boolean {
    const [user, home] = [realPath(homedir()), realPath(this.#options.home)];
    return !isInside(folder, user) && !isInside(folder, home) && !isInside(home, folder);
  }
}

function covers(grant: Pick<PathGrant, "folder" | "access">, { path, access }: PathRequest): boolean {
  return (access === "read" || grant.access === "write") && isInside(grant.folder, path);
}

/** A folder itself, else the one that a file is in. */
function folderOf(path: string): string {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true ? path : dirname(path);
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    // It is not there yet.
    return path;
  }
}
