import { randomBytes } from "node:crypto";
import { existsSync, linkSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { outputExists } from "./output-file.ts";

/**
 * A file that appears whole or not at all, and never in the place of another. It grows under a temporary name
 * beside its own; a process killed meanwhile leaves that one behind, where it blocks nobody.
 */
export class NewFile {
  readonly path: string;
  /** Where to write until `publish`, with mode 0600. */
  readonly temporaryPath: string;

  constructor(path: string) {
    this.path = path;
    this.temporaryPath = `${path}.${randomBytes(6).toString("hex")}.tmp`;
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  }

  /**
   * Gives what was written its name.
   * @throws BonsaiError `output_exists`, when somebody else took the name meanwhile.
   */
  publish(): void {
    try {
      linkSync(this.temporaryPath, this.path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "EEXIST") throw outputExists(this.path);
      this.#rename();
    }
    this.discard();
  }

  /** Removes what was not published; does nothing after `publish`. */
  discard(): void {
    rmSync(this.temporaryPath, { force: true });
  }

  /** Some file systems know no links; a rename would replace, so it looks first. */
  #rename(): void {
    if (existsSync(this.path)) throw outputExists(this.path);
    renameSync(this.temporaryPath, this.path);
  }
}
