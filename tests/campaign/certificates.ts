/** Certification authorities and certificates for servers of tests, made with OpenSSL. */

/** Paths of an authority's certificate, and of a server's certificate and key. */
export interface Certificates {
  readonly ca: string;
  readonly certificate: string;
  readonly key: string;
}

const SCRIPT = `
cd "$1"
key="-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"
openssl req -x509 $key -days 2 -subj "/CN=authority $2" -keyout "$2-ca.key" -out "$2-ca.pem"
openssl req $key -subj /CN=server -keyout "$2.key" -out "$2.csr" -addext "subjectAltName=$3"
openssl x509 -req -in "$2.csr" -CA "$2-ca.pem" -CAkey "$2-ca.key" -CAcreateserial -days 2 \
  -copy_extensions copy -out "$2.pem"
`;

/**
 * Makes an authority and a certificate of it in a folder.
 *
 * @param name The first part of the names of the files.
 * @param names What the certificate is valid for, for example `IP:127.0.0.1`.
 */
export async function certify(folder: string, name: string, names: string): Promise<Certificates> {
  const { success, stderr } = await new Deno.Command("sh", {
    args: ["-ec", SCRIPT, "sh", folder, name, names],
    stdout: "null",
    stderr: "piped",
  }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  const [ca, certificate] = [`${folder}/${name}-ca.pem`, `${folder}/${name}.pem`];
  return { ca, certificate, key: `${folder}/${name}.key` };
}
