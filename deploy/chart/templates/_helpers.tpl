{{- /* The namespace of the release's objects. */ -}}
{{- define "dra-reference.namespace" -}}
{{- .Values.namespaceOverride | default .Release.Namespace -}}
{{- end -}}

{{- /* The image of the components and of the suite. */ -}}
{{- define "dra-reference.image" -}}
{{- printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}

{{- /* The option of the programs' verbosity, or nothing. */ -}}
{{- define "dra-reference.verbosity" -}}
{{- with .Values.logVerbosity | int -}}-{{ repeat (min 2 . | int) "v" }}{{- end -}}
{{- end -}}

{{- /* The option with those of `gates` that are `known` to a program, or nothing. */ -}}
{{- define "dra-reference.gates" -}}
{{- $set := list -}}
{{- range $name, $value := .gates -}}
{{- if has $name $.known -}}{{- $set = append $set (printf "%s=%t" $name $value) -}}{{- end -}}
{{- end -}}
{{- with $set -}}--driver-feature-gates={{ join "," . }}{{- end -}}
{{- end -}}

{{- /* The option with the socket of the hosts' nvidia-imex, which has a meaning with hostManaged only. */ -}}
{{- define "dra-reference.imexHostSocketPath" -}}
{{- with .Values.resources.computeDomains.imex -}}
{{- if eq .mode "hostManaged" -}}--imex-host-socket-path={{ .hostSocketPath }}{{- end -}}
{{- end -}}
{{- end -}}

{{- /* The option of shares of one GPU, or nothing. */ -}}
{{- define "dra-reference.consumableShares" -}}
{{- with .Values.consumableShares | toString -}}--consumable-shares={{ . }}{{- end -}}
{{- end -}}

{{- /* The data of the ConfigMap with the inventories of the nodes. */ -}}
{{- define "dra-reference.inventories" -}}
{{- $all := dict "default" .Values.fakeGpus.inventory -}}
{{- range $node, $inventory := mergeOverwrite $all .Values.fakeGpus.nodes }}
{{ printf "%s.yaml" $node | quote }}: {{ kindIs "string" $inventory | ternary $inventory (toYaml $inventory) | quote }}
{{- end -}}
{{- end -}}

{{- /* Secret, certificate, key and authority of the webhook; the last three in base64.
A certificate that an earlier revision of the release made is kept. */ -}}
{{- define "dra-reference.certificate" -}}
{{- $namespace := include "dra-reference.namespace" . -}}
{{- $name := "reference-webhook-certificate" -}}
{{- if eq .Values.webhook.tls.mode "secret" -}}
secret: {{ required "webhook.tls.secret.name: name the Secret with tls.crt and tls.key" .Values.webhook.tls.secret.name }}
certificate: ""
key: ""
authority: {{ required "webhook.tls.secret.caBundle: give the authority of the certificate, in base64" .Values.webhook.tls.secret.caBundle | replace "\n" "" | replace " " "" | quote }}
{{- else -}}
{{- $kept := lookup "v1" "Secret" $namespace $name | default dict -}}
{{- $data := get $kept "data" | default dict -}}
secret: {{ $name }}
{{- if and (hasKey $data "tls.crt") (hasKey $data "tls.key") (hasKey $data "ca.crt") }}
certificate: {{ get $data "tls.crt" }}
key: {{ get $data "tls.key" }}
authority: {{ get $data "ca.crt" }}
{{- else }}
{{- $host := printf "reference-webhook.%s.svc" $namespace -}}
{{- $authority := genCA "dra-reference-webhook" 3650 -}}
{{- $pair := genSignedCert $host nil (list $host) 3650 $authority }}
certificate: {{ $pair.Cert | b64enc }}
key: {{ $pair.Key | b64enc }}
authority: {{ $authority.Cert | b64enc }}
{{- end }}
{{- end -}}
{{- end -}}
