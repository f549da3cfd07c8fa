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
  /** The permissions beyond this question. None for RPC, whose question is yes or no. */
  grants: readonly ("session" | "always")[];
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
 * @returns asks for the tools of a session, default before there is one, unless the path is in the project or granted.
 *   The answer is undefined without a user.
 */
export function pathQuestions({ cwd, home, allow, ui, grants }: PathQuestionsOptions) {
  const inTurn = oneAfterTheOther();
  const granted = new Map<string, Grant[]>();
  /** Tools of extensions may work in another folder, and do not know the settings. */
  const usual = (): Grant[] =>
    [cwd, ...allow].map((path) => ({ folder: realPath(absolutePath(path, cwd)), access: "write" }));
  const answer = async (sessionId: string, request: PathRequest): Promise<boolean | undefined> => {
    const session = granted.get(sessionId) ?? [];
    if ([...usual(), ...session, ...pathGrants(cwd, home)].some((grant) => covers(grant, request)))
      return true;
    if (ui === undefined) return undefined;
    const { toolName, path, access, signal } = request;
    const question = access === "read" ? "Read outside the project?" : "Change a file outside the project?";
    // A line break in a name could imitate lines of the question.
    const message = `The tool ${toolName} wants to ${access === "read" ? "read" : "change"} ${printable(path)}.`;
    if (grants.length === 0) return ui.confirm(question, message, { signal });
    const folder = folderOf(path);
    const offered = mayGrant(folder, home) ? grants.map((each) => answers[each]) : [];
    // The list would cut a long folder; the title wraps.
    const whole = offered.length > 0 ? ` Whole folder: ${printable(folder)}` : "";
    const title = `${question} ${message}${whole}`;
    const chosen = await ui.select(title, [answers.no, answers.once, ...offered], {
      signal,
      permissions: ["reject_once", "allow_once", ...offered.map(() => "allow_always" as const)],
    });
    if (chosen === answers.session) granted.set(sessionId, [...session, { folder, access }]);
    if (chosen === answers.always) grantPath({ project: cwd, folder, access }, home);
    return chosen !== undefined && chosen !== answers.no;
  };
  return (sessionId = ""): ConfirmPath =>
    // Asks one question at a time, because one answer can settle the next question.
    (request) =>
      inTurn(() => answer(sessionId, request));
}

type Grant = Pick<PathGrant, "folder" | "access">;

/** Refuses home folders, their parents, and Bonsai's own files. */
function mayGrant(folder: string, bonsaiHome: string): boolean {
  const [user, home] = [realPath(homedir()), realPath(bonsaiHome)];
  return !isInside(folder, user) && !isInside(folder, home) && !isInside(home, folder);
}

function covers(grant: Grant, { path, access }: PathRequest): boolean {
  return (access === "read" || grant.access === "write") && isInside(grant.folder, path);
}

function folderOf(path: string): string {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true ? path : dirname(path);
}
