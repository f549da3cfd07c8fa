/** One file of instructions for the model. */
export interface ProjectInstruction {
  /** Absolute. */
  path: string;
  /** Empty when it could not be read. */
  text: string;
  /** Why it could not be read, or only in part. */
  problem?: string | undefined;
}

export interface ProjectInstructionsOptions {
  /** Absolute. */
  cwd: string;
  /** The folder of Bonsai's own files, whose instructions come first; see `bonsaiHome()`. */
  home: string;
  /** In each folder the first of these that exists is read. */
  fileNames: readonly string[];
}

/** Instruction files for work in a folder, the most general first. Never throws: what cannot be read says so in `problem`. */
export async function projectInstructions(_options: ProjectInstructionsOptions): Promise<ProjectInstruction[]> {
  return [];
}
