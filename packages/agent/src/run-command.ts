/** A command that the user runs by hand. */
export interface CommandRun {
  command: string;
  signal: AbortSignal;
  /** Told of output as it comes. */
  onOutput?: ((text: string) => void) | undefined;
}

export interface CommandOutput {
  /** What is shown and, but for `!!`, what the model sees: at most as much as the bash tool gives back. */
  output: string;
  /** Absent for a command that was stopped by a signal. */
  exitCode?: number | undefined;
  cancelled: boolean;
  truncated: boolean;
  /** Where all of it is, when it was truncated. */
  fullOutputPath?: string | undefined;
}

/** Runs a shell command in the project, its whole process tree killed on abort. Rejects where it cannot be started. */
export type RunCommand = (run: CommandRun) => Promise<CommandOutput>;
