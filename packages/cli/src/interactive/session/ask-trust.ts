import { projectFiles } from "../../extensions/project-files.ts";
import { shownPath } from "../../shown-path.ts";
import { isTrusted, trustFolder } from "../../trust.ts";
import { askYes } from "../panels/ask.ts";
import type { Screen } from "../screen.ts";

export interface TrustQuestion {
  screen: Screen;
  home: string;
  /** The project's folder. */
  cwd: string;
}

/** Asks about a project that brings settings or extensions and was never trusted, before any of it is used. */
export async function askAtStart(question: TrustQuestion): Promise<void> {
  const { home, cwd } = question;
  if (isTrusted(cwd, home)) return;
  const used = await projectFiles(cwd, home);
  if (used.length > 0) await askTrust(question, used);
}

/** Shows what would be used, and asks. @returns true where the project is trusted now */
export async function askTrust(
  { screen, home, cwd }: TrustQuestion,
  used: readonly string[],
): Promise<boolean> {
  const isSure = await askYes(screen, {
    title: "Trust this project?",
    message: [
      cwd,
      "",
      used.length === 0
        ? "It brings no settings and no extensions now; those that come later would be used."
        : "What it brings is used from then on; extensions are programs that run as you do:",
      ...used.map((path) => `  ${shownPath(path, cwd)}`),
    ].join("\n"),
    // At the start it comes while the user may be typing already.
    typeThrough: (data) => screen.typeThrough(data),
  });
  if (isSure) trustFolder(cwd, home);
  return isSure;
}
