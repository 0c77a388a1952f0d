// The page's back end: the server that it comes from. A build without a server replaces this file.

/** Asks an endpoint. `headers`: further headers. Throws an error whose `where` names a field of the form. */
export async function ask(path, body, headers) {
  const init = { headers };
  if (body !== undefined) {
    init.method = "POST";
    init.headers = { ...headers, "Content-Type": "application/json" };
    init.body = JSON.stringify(body);
  }
  const response = await fetch(`playground/${path}`, init);
  const answer = await response.json();
  if (response.ok) return answer;
  const { error } = answer;
  throw Object.assign(new Error(error.message), response.status === 401 ? { where: "key" } : error);
}
