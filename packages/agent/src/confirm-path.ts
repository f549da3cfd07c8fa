/** A path beyond the project that a tool wants to touch. */
export interface PathRequest {
  /** Absolute, symbolic links resolved as far as it exists. */
  path: string;
  toolName: string;
  access: "read" | "write";
  signal: AbortSignal;
}

/** Asks the user; true lets the tool go on. Where nobody can be asked, a path beyond the project is refused. */
export type ConfirmPath = (request: PathRequest) => Promise<boolean>;
