/** Who serves the model: Google Cloud, or the Gemini API. */
export type Service = "vertex" | "gemini";

type Env = Readonly<Record<string, string | undefined>>;

/** Where Vertex AI is asked, by the variables that Google documents for its SDK. */
export interface VertexSettings {
  project: string;
  /** Default: `global`, where Gemini is served from wherever there is room. */
  location: string;
}

/** @returns undefined where no project is named */
export function vertexSettings(env: Env): VertexSettings | undefined {
  const project = env.GOOGLE_CLOUD_PROJECT?.trim() ?? "";
  return project === "" ? undefined : { project, location: env.GOOGLE_CLOUD_LOCATION?.trim() || "global" };
}

/** What Vertex AI lacks, with the remedy. Whether there are credentials is the SDK's to find out, at the first request. */
export function missingForVertex(env: Env): string | undefined {
  return vertexSettings(env) === undefined
    ? `Vertex AI has no project. Set GOOGLE_CLOUD_PROJECT and ${SIGN_IN}.`
    : undefined;
}

/** The remedy for missing application-default credentials. */
export const SIGN_IN =
  "sign in with `gcloud auth application-default login` or set GOOGLE_APPLICATION_CREDENTIALS to a key file";
