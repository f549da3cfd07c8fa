export interface ExecOptions {
  signal?: AbortSignal | undefined;
  /** Milliseconds; after that the program is killed. Default: no limit. */
  timeout?: number | undefined;
  /** Default: the working folder. */
  cwd?: string | undefined;
  /** Laid over the environment; undefined takes a variable out. Default: the environment as it is. */
  env?: Readonly<Record<string, string | undefined>> | undefined;
}

export interface ExecResult {
  stdout: string;
  stderr: string;
  /** The exit code; 1 where the program was killed or could not be started. */
  code: number;
  /** True where a signal or the timeout ended it. */
  killed: boolean;
}
