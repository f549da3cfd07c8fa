import { isNothing, type ProjectUse, projectUse, projectUseLines } from "../../extensions/project-use.ts";
import { isRefused, isTrusted, refuseFolder, trustFolder } from "../../trust.ts";
import { askYesOrNo } from "../panels/ask.ts";
import type { Screen } from "../screen.ts";

export interface TrustQuestion {
  screen: Screen;
  home: string;
  /** The project's folder. */
  cwd: string;
}

/**
 * Asks about a project that brings settings or extensions and was never trusted, before any of it is used. A no is
 * remembered; who leaves the question is asked again at the next start.
 */
export async function askAtStart(question: TrustQuestion): Promise<void> {
  const { home, cwd } = question;
  if (isTrusted(cwd, home) || isRefused(cwd, home)) return;
  const use = await projectUse(cwd, home);
  if (!isNothing(use) && (await askTrust(question, use)) === false) refuseFolder(cwd, home);
}

/** Shows what would be used, and asks. @returns true where the project is trusted now; undefined without an answer */
export async function askTrust(
  { screen, home, cwd }: TrustQuestion,
  use: ProjectUse,
): Promise<boolean | undefined> {
  const isSure = await askYesOrNo(screen, {
    title: "Trust this project?",
    message: [
      cwd,
      "",
      isNothing(use)
        ? "It brings no settings and no extensions now; those that come later would be used."
        : "What it brings is used from then on; extensions are programs that run as you do:",
      ...projectUseLines(use, cwd).map((line) => `  ${line}`),
    ].join("\n"),
    // At the start it comes while the user may be typing already.
    typeThrough: (data) => screen.typeThrough(data),
  });
  if (isSure === true) trustFolder(cwd, home);
  return isSure;
}
