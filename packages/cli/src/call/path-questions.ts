import { statSync } from "node:fs";
import { homedir } from "node:os";
import { dirname } from "node:path";
import type { ConfirmPath } from "@bonsai-agent/agent";
import { isInside } from "@bonsai-agent/agent/host";
import type { FrontEndUI } from "@bonsai-agent/extension/host";
import { printable } from "../views/terminal-text.ts";
import { absolutePath, realPath } from "./paths.ts";
import { oneAfterTheOther } from "./questions.ts";
import { grantPath, type PathGrant, pathGrants } from "./trust.ts";

type PathRequest = Parameters<ConfirmPath>[0];

interface PathQuestionsOptions {
  cwd: string;
  home: string;
  allow: readonly string[];
  ui: FrontEndUI | undefined;
  /** False for RPC, whose question is yes or no. */
  offersGrants: boolean;
}

/** The answers in their order: the first is selected, and allows nothing. */
const answers = {
  no: "No",
  once: "Yes, once",
  session: "Yes, the whole folder, for this session",
  always: "Yes, the whole folder, always in this project",
} as const;

/**
 * Owner of access outside the project: the user grants it once, for a session, or permanently. Grants and requests
 * are resolved paths, so that no link or `..` leads elsewhere.
 */
export class PathQuestions {
  readonly #options: PathQuestionsOptions;
  readonly #inTurn = oneAfterTheOther();
  readonly #granted = new Map<string, Pick<PathGrant, "folder" | "access">[]>();

  constructor(options: PathQuestionsOptions) {
    this.#options = options;
  }

  /**
   * Asks for the tools of a session, unless the path is in the project or granted.
   * @param sessionId default: before there is one
   */
  ask(sessionId = ""): ConfirmPath {
    // In turn, because one answer can settle the next question.
    return (request) => this.#inTurn(() => this.#answer(sessionId, request));
  }

  /** Tools of extensions may work in another folder, and do not know the settings. */
  get #usual(): Pick<PathGrant, "folder" | "access">[] {
    const { cwd, allow } = this.#options;
    return [cwd, ...allow].map((path) => ({ folder: realPath(absolutePath(path, cwd)), access: "write" }));
  }

  /** @returns undefined without a user */
  async #answer(sessionId: string, request: PathRequest): Promise<boolean | undefined> {
    const { cwd, home, ui } = this.#options;
    const session = this.#granted.get(sessionId) ?? [];
    if ([...this.#usual, ...session, ...pathGrants(cwd, home)].some((grant) => covers(grant, request)))
      return true;
    if (ui === undefined) return undefined;
    const { toolName, path, access } = request;
    const question = access === "read" ? "Read outside the project?" : "Change a file outside the project?";
    // A line break in a name could imitate lines of the question.
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
    // The list would cut a long folder; the title wraps.
    const whole = grants.length > 0 ? `${title} Whole folder: ${printable(folder)}` : title;
    const answer = await ui.select(whole, [answers.no, answers.once, ...grants], { signal });
    if (answer === answers.session)
      this.#granted.set(sessionId, [...(this.#granted.get(sessionId) ?? []), { folder, access }]);
    if (answer === answers.always) grantPath({ project: cwd, folder, access }, home);
    return answer !== undefined && answer !== answers.no;
  }

  /** Refuses the home folders and folders that contain them, and Bonsai's own files. */
  #mayGrant(folder: string): boolean {
    const [user, home] = [realPath(homedir()), realPath(this.#options.home)];
    return !isInside(folder, user) && !isInside(folder, home) && !isInside(home, folder);
  }
}

function covers(grant: Pick<PathGrant, "folder" | "access">, { path, access }: PathRequest): boolean {
  return (access === "read" || grant.access === "write") && isInside(grant.folder, path);
}

function folderOf(path: string): string {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true ? path : dirname(path);
}
