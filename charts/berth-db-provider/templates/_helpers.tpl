{{- define "berth-db-provider.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- /* A release that is named as the chart, or after it, is named once. */ -}}
{{- define "berth-db-provider.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else if contains (include "berth-db-provider.name" .) .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "berth-db-provider.name" .) | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- /* Of what lives in no namespace: two releases of the same name do not meet. */ -}}
{{- define "berth-db-provider.clusterName" -}}
{{- printf "%s:%s" .Release.Namespace (include "berth-db-provider.fullname" .) -}}
{{- end -}}

{{- define "berth-db-provider.selectorLabels" -}}
app.kubernetes.io/name: {{ include "berth-db-provider.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "berth-db-provider.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "berth-db-provider.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "berth-db-provider.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "berth-db-provider.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "berth-db-provider.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{- printf "%s@%s" .repository .digest -}}
{{- else -}}
{{- printf "%s:%s" .repository (default $.Chart.AppVersion .tag) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "berth-db-provider.metricsName" -}}
{{- printf "%s-metrics" (include "berth-db-provider.fullname" . | trunc 55 | trimSuffix "-") -}}
{{- end -}}

{{- define "berth-db-provider.tlsSecretName" -}}
{{- default (printf "%s-tls" (include "berth-db-provider.fullname" .)) .Values.tls.secretName -}}
{{- end -}}

{{- /* As the one above, of kinds whose names may have no colon. */ -}}
{{- define "berth-db-provider.policyName" -}}
{{- printf "%s.%s" .Release.Namespace (include "berth-db-provider.fullname" .) -}}
{{- end -}}
